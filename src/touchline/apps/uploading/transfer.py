"""One file on its way: parts straight to the object store, several at once, as often as it takes.

Invariant: nothing is kept here. The same file again has the same key, so a transfer that died is taken up where the
store says it stopped.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from touchline.kernel.errors import (
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    NotFound,
    SetupError,
    TouchlineError,
    Unavailable,
)
from touchline.platform.concurrency import gather_or_cancel

from .answers import data_of, error_of
from .upload import FileChanged, Upload

# The GraphQL calls of an upload. An error in a result is raised as the same error here.

_PROBLEM = "... on Problem { code message hint } ... on ValidationError { field }"
_CREATE = f"""
mutation ($input: CreateVodUploadInput!) {{
  createVodUpload(input: $input) {{
    {_PROBLEM}
    ... on UploadTicket {{ partSizeBytes partCount parts {{ number }} vod {{ artifactHash playbackId }} }}
  }}
}}
"""
_PARTS = f"""
mutation ($hash: String!, $numbers: [Int!]!) {{
  uploadParts(artifactHash: $hash, numbers: $numbers) {{
    {_PROBLEM}
    ... on UploadParts {{ parts {{ number url sizeBytes }} }}
  }}
}}
"""
_ARRIVED = "query ($hash: String!) { arrivedParts(artifactHash: $hash) { arrived } }"
_COMPLETE = f"""
mutation ($hash: String!) {{
  completeVodUpload(artifactHash: $hash) {{
    {_PROBLEM}
    ... on VodPayload {{ vod {{ status }} }}
  }}
}}
"""
_ABORT = """
mutation ($hash: String!) { abortVodUpload(artifactHash: $hash) { ... on Problem { code message hint } } }
"""
_STATE = """
query ($hash: String!) { vod(artifactHash: $hash) { status progressPercent errorCode errorMessage } }
"""


@dataclass(frozen=True, slots=True)
class Ticket:
    artifact_hash: str
    playback_id: str
    part_size_bytes: int
    part_count: int
    takes_parts: bool


@dataclass(frozen=True, slots=True)
class PartLink:
    number: int
    url: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class VodState:
    status: str | None
    progress_percent: int | None
    error_code: str | None
    error_message: str | None


class UploadApi:
    def __init__(self, http: httpx.AsyncClient) -> None:
        """The client knows the address of the gateway and carries the token."""
        self._http = http

    async def create(self, key: str, file_name: str, size_bytes: int, title: str) -> Ticket:
        wanted = {"idempotencyKey": key, "fileName": file_name, "sizeBytes": size_bytes, "title": title}
        made = await self._result("createVodUpload", _CREATE, {"input": wanted})
        ids = made["vod"]["artifactHash"], made["vod"]["playbackId"]
        return Ticket(*ids, made["partSizeBytes"], made["partCount"], takes_parts=bool(made["parts"]))

    async def arrived(self, artifact_hash: str) -> frozenset[int]:
        found = (await self._data(_ARRIVED, {"hash": artifact_hash}))["arrivedParts"]
        return frozenset(found["arrived"]) if found else frozenset()

    async def links(self, artifact_hash: str, numbers: list[int]) -> list[PartLink]:
        answer = await self._result("uploadParts", _PARTS, {"hash": artifact_hash, "numbers": numbers})
        return [PartLink(part["number"], part["url"], part["sizeBytes"]) for part in answer["parts"]]

    async def complete(self, artifact_hash: str) -> None:
        await self._result("completeVodUpload", _COMPLETE, {"hash": artifact_hash})

    async def abort(self, artifact_hash: str) -> None:
        await self._result("abortVodUpload", _ABORT, {"hash": artifact_hash})

    async def state(self, artifact_hash: str) -> VodState:
        vod = (await self._data(_STATE, {"hash": artifact_hash}))["vod"]
        if vod is None:
            raise NotFound("the video is gone", why="somebody deleted it")
        return VodState(vod["status"], vod["progressPercent"], vod["errorCode"], vod["errorMessage"])

    async def _result(self, name: str, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        result = (await self._data(document, variables))[name]
        if "code" in result:
            raise error_of(result["code"], result["message"], hint=result["hint"], field=result.get("field"))
        return result

    async def _data(self, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        try:
            response = await self._http.post("/api/graphql", json={"query": document, "variables": variables})
        except httpx.RequestError as error:
            why = f"{self._http.base_url}: {type(error).__name__}"
            raise Unavailable("the gateway did not answer", why=why) from error
        return data_of(response)


# Waiting for a gateway that is away for a moment, as it is when it is started again.
#
# Invariant: only calls that may be made again come here, and no outage is waited for longer than the limit.

Tell = Callable[[str], None]
Answer = TypeVar("Answer")
GO_ON = "Run the same command again: it goes on where it stopped."


@dataclass(frozen=True, slots=True)
class Waits:
    away_s: float = 60.0  # a restart takes some seconds, a slow one with migrations some more
    pause_s: float = 0.5


class Patience:
    def __init__(self, waits: Waits, tell: Tell) -> None:
        self.waits = waits
        self._tell = tell
        self._told = False

    async def ask(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """What the call answers, as soon as it does; raises what does not pass by itself."""
        trouble = Unavailable("the gateway was not asked")
        try:
            async with asyncio.timeout(None) as limit:
                while True:
                    try:
                        answer = await call()
                    except TouchlineError as error:
                        if not error.retryable:
                            raise
                        trouble = error
                        self._begin_to_wait(error, limit)
                        await asyncio.sleep(self.waits.pause_s)
                    else:
                        self._told = False
                        return answer
        except TimeoutError:
            why = f"{trouble}; this lasted {self.waits.away_s:g} s"
            raise Unavailable("the gateway stays unreachable", why=why, hint=GO_ON) from trouble

    def _begin_to_wait(self, error: TouchlineError, limit: asyncio.Timeout) -> None:
        if limit.when() is None:
            limit.reschedule(asyncio.get_running_loop().time() + self.waits.away_s)
        if not self._told:
            self._tell(f"{error}; trying again for up to {self.waits.away_s:g} s")
            self._told = True


async def outlasting(call: Callable[[], Awaitable[Answer]], tries: int) -> Answer:
    """What took the gateway too long goes on there: whoever asks again waits for the same end."""
    for _ in range(tries - 1):
        with suppress(DeadlineExceeded):
            return await call()
    return await call()


# One part on its way to the object store, as often as it takes.
#
# Invariant: no more is sent at once than there are slots, and each try has a link that was just signed.

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
