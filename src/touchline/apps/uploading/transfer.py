"""One file on its way: parts straight to the object store, several at once, as often as it takes.

Invariant: nothing is kept here. The same file again has the same key, so a transfer that died is taken up where the
store says it stopped.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

import httpx

from touchline.kernel.errors import Conflict, InvalidInput, TouchlineError
from touchline.platform.concurrency import gather_or_cancel

from .api import PartLink, Ticket, UploadApi, VodState
from .parts import PartSender
from .patience import Patience, Tell, Waits, outlasting
from .upload import FileChanged, Upload

LINKS_AT_ONCE = 20
TURNS = 1000
CREATES = 3
CHECKS = 60  # a large file is checked for longer than one request may take
ENDED = {"failed", "deleted"}


class Transfer:
    def __init__(
        self, api: UploadApi, store: httpx.AsyncClient, upload: Upload, tell: Tell, waits: Waits | None = None
    ) -> None:
        self._api, self._upload, self._tell = api, upload, tell
        self._patience = Patience(waits or Waits(), tell)
        self._sender = PartSender(api, store, upload, self._patience)
        self._sent = 0

    async def run(self, server: str) -> Ticket:
        self._upload.check()
        ticket = await self._begin(server)
        if ticket.takes_parts:
            await self._send_unchanged(ticket)
            self._tell("checking what arrived")
            complete = partial(self._api.complete, ticket.artifact_hash)
            await self._patience.ask(partial(outlasting, complete, CHECKS))
        return ticket

    async def _send_unchanged(self, ticket: Ticket) -> None:
        """A file that changed on the way is given up there as well, with all that arrived of it."""
        try:
            await self._send_missing(ticket)
            self._upload.require_unchanged()
        except FileChanged:
            with suppress(TouchlineError):  # then the server gives it up by itself, when its time is over
                await self._patience.ask(partial(self._api.abort, ticket.artifact_hash))
            raise

    async def _begin(self, server: str) -> Ticket:
        """What was deleted or has failed begins anew: the next turn of the same file."""
        upload = self._upload
        for turn in range(TURNS):
            with suppress(Conflict):
                request = (upload.key(server, turn), upload.path.name, upload.size_bytes, upload.title)
                return await outlasting(partial(self._api.create, *request), CREATES)
        why = f"it was deleted or failed {TURNS} times"
        raise Conflict("this file cannot be uploaded again", why=why, hint="Copy it: a copy is another file.")

    async def wait_until_playable(self, ticket: Ticket) -> None:
        """Tells every change; raises what stopped it."""
        told = ""
        while True:
            state = await self._patience.ask(partial(self._api.state, ticket.artifact_hash))
            if (text := _progress(state)) != told:
                self._tell(text)
                told = text
            if state.status == "ready":
                return
            if state.status in ENDED:
                raise InvalidInput(state.error_message or f"the video was {state.status}", why=state.error_code or "")
            await asyncio.sleep(self._patience.waits.pause_s)

    async def _send_missing(self, ticket: Ticket) -> None:
        arrived = await self._patience.ask(partial(self._api.arrived, ticket.artifact_hash))
        missing = [number for number in range(1, ticket.part_count + 1) if number not in arrived]
        self._sent = ticket.part_count - len(missing)
        for start in range(0, len(missing), LINKS_AT_ONCE):
            numbers = missing[start : start + LINKS_AT_ONCE]
            links = await self._patience.ask(partial(self._api.links, ticket.artifact_hash, numbers))
            await gather_or_cancel(*(self._send(ticket, link) for link in links))

    async def _send(self, ticket: Ticket, link: PartLink) -> None:
        await self._sender.send(ticket, link)
        self._sent += 1
        self._tell(f"sent {self._sent} of {ticket.part_count} parts")


def _progress(state: VodState) -> str:
    if state.status == "processing" and state.progress_percent is not None:
        return f"processing {state.progress_percent} %"
    return state.status or "waiting"
