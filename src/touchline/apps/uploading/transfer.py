"""One file on its way: parts straight to the object store, several at once, as often as it takes.

Invariant: nothing is kept here. The same file again has the same key, so a transfer that died is taken up where the
store says it stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import httpx

from touchline.kernel.errors import Conflict, InvalidInput, Unavailable

from .api import PartLink, Ticket, UploadApi
from .upload import Upload

PARALLEL = 3
TRIES = 5
LINKS_AT_ONCE = 20
LOOK_AGAIN_S = 0.5
TURNS = 1000
ENDED = {"failed", "deleted"}

Tell = Callable[[str], None]


class Transfer:
    def __init__(self, api: UploadApi, store: httpx.AsyncClient, upload: Upload, tell: Tell) -> None:
        self._api, self._store, self._upload, self._tell = api, store, upload, tell
        self._slots = asyncio.Semaphore(PARALLEL)
        self._sent = 0

    async def run(self, server: str) -> Ticket:
        self._upload.check()
        ticket = await self._begin(server)
        if ticket.takes_parts:
            await self._send_missing(ticket)
            self._tell("checking what arrived")
            await self._api.complete(ticket.artifact_hash)
        return ticket

    async def _begin(self, server: str) -> Ticket:
        """What was deleted or has failed begins anew: the next turn of the same file."""
        upload = self._upload
        for turn in range(TURNS):
            with suppress(Conflict):
                key = upload.key(server, turn)
                return await self._api.create(key, upload.path.name, upload.size_bytes, upload.title)
        why = f"it was deleted or failed {TURNS} times"
        raise Conflict("this file cannot be uploaded again", why=why, hint="Copy it: a copy is another file.")

    async def wait_until_playable(self, ticket: Ticket) -> None:
        """Tells every change; raises what stopped it."""
        told = ""
        while True:
            state = await self._api.state(ticket.artifact_hash)
            percent = f" {state.progress_percent} %" if state.progress_percent is not None else ""
            text = f"{state.status or 'waiting'}{percent if state.status == 'processing' else ''}"
            if text != told:
                self._tell(text)
                told = text
            if state.status == "ready":
                return
            if state.status in ENDED:
                raise InvalidInput(state.error_message or f"the video was {state.status}", why=state.error_code or "")
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _send_missing(self, ticket: Ticket) -> None:
        arrived = await self._api.arrived(ticket.artifact_hash)
        missing = [number for number in range(1, ticket.part_count + 1) if number not in arrived]
        self._sent = ticket.part_count - len(missing)
        for start in range(0, len(missing), LINKS_AT_ONCE):
            links = await self._api.links(ticket.artifact_hash, missing[start : start + LINKS_AT_ONCE])
            async with asyncio.TaskGroup() as group:
                for link in links:
                    group.create_task(self._send(ticket, link))

    async def _send(self, ticket: Ticket, link: PartLink) -> None:
        async with self._slots:
            for attempt in range(TRIES):
                if await self._put(ticket, link):
                    break
                await asyncio.sleep(LOOK_AGAIN_S * 2**attempt)
                [link] = await self._api.links(ticket.artifact_hash, [link.number])
            else:
                why = f"part {link.number} failed {TRIES} times"
                raise Unavailable("the object store does not take the file", why=why)
        self._sent += 1
        self._tell(f"sent {self._sent} of {ticket.part_count} parts")

    async def _put(self, ticket: Ticket, link: PartLink) -> bool:
        offset = (link.number - 1) * ticket.part_size_bytes
        headers = {"Content-Length": str(link.size_bytes)}
        try:
            body = self._upload.slice(offset, link.size_bytes)
            return (await self._store.put(link.url, content=body, headers=headers)).is_success
        except httpx.TransportError:
            return False
