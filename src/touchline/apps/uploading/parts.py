"""One part on its way to the object store, as often as it takes.

Invariant: no more is sent at once than there are slots, and each try has a link that was just signed.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from urllib.parse import urlsplit

import httpx

from touchline.kernel.errors import SetupError, TouchlineError, Unavailable

from .api import PartLink, Ticket, UploadApi
from .patience import GO_ON, Patience
from .upload import Upload

PARALLEL = 3
TRIES = 5
TRIES_WHEN_REFUSED = 2  # the link may have expired; when a new one is refused, the third would be, too
PASSES = frozenset({408, 425, 429})
REASON = re.compile(r"<Code>(\w{1,64})</Code>")


class PartSender:
    def __init__(self, api: UploadApi, store: httpx.AsyncClient, upload: Upload, patience: Patience) -> None:
        self._api, self._store, self._upload, self._patience = api, store, upload, patience
        self._slots = asyncio.Semaphore(PARALLEL)

    async def send(self, ticket: Ticket, link: PartLink) -> None:
        async with self._slots:
            failures = 0
            while (trouble := await self._put(ticket, link)) is not None:
                failures += 1
                if failures >= (TRIES if trouble.retryable else TRIES_WHEN_REFUSED):
                    raise trouble
                await asyncio.sleep(self._patience.waits.pause_s * 2 ** (failures - 1))
                [link] = await self._patience.ask(partial(self._api.links, ticket.artifact_hash, [link.number]))

    async def _put(self, ticket: Ticket, link: PartLink) -> TouchlineError | None:
        body = self._upload.slice((link.number - 1) * ticket.part_size_bytes, link.size_bytes)
        try:
            answer = await self._store.put(link.url, content=body, headers={"Content-Length": str(link.size_bytes)})
        except httpx.RequestError as error:
            why = f"{_place(link)} did not take part {link.number} ({type(error).__name__})"
            return Unavailable("the object store cannot be reached", why=why, hint=GO_ON)
        return None if answer.is_success else trouble_of(answer, link)


def trouble_of(answer: httpx.Response, link: PartLink) -> TouchlineError:
    """What passes by itself, and what somebody must fix."""
    reason = REASON.search(answer.text[:10_000])
    said = f"{answer.status_code} {reason[1]}" if reason else str(answer.status_code)
    why = f"{_place(link)} answers {said} to part {link.number}"
    if answer.status_code >= 500 or answer.status_code in PASSES:
        return Unavailable("the object store does not take the file now", why=why, hint=GO_ON)
    hint = "An administrator checks `objects.public_url`, the proxy in front of the object store, and the clocks."
    return SetupError("the object store refuses the file", why=why, hint=hint)


def _place(link: PartLink) -> str:
    """Without the rest, which is signed."""
    parts = urlsplit(link.url)
    return f"{parts.scheme}://{parts.netloc}"
