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
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import httpx

from touchline.kernel import Scope, errors
from touchline.platform.concurrency import gather_or_cancel

from .gateway_client import Access, GatewayClient, open_gateway
from .upload_file import FileChanged, Upload, new_digest

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
_ARRIVED = "query ($hash: String!) { arrivedParts(artifactHash: $hash) { arrived checksums } }"
_COMPLETE = f"""
mutation ($hash: String!, $checksums: [String!]!) {{
  completeVodUpload(artifactHash: $hash, checksums: $checksums) {{
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
    def __init__(self, gateway: GatewayClient) -> None:
        self._gateway = gateway

    async def create(self, key: str, file_name: str, size_bytes: int, title: str) -> Ticket:
        wanted = {"idempotencyKey": key, "fileName": file_name, "sizeBytes": size_bytes, "title": title}
        made = await self._gateway.query_result("createVodUpload", _CREATE, {"input": wanted})
        ids = made["vod"]["artifactHash"], made["vod"]["playbackId"]
        return Ticket(*ids, made["partSizeBytes"], made["partCount"], takes_parts=bool(made["parts"]))

    async def arrived(self, artifact_hash: str) -> dict[int, str]:
        """The checksum of each part that is there."""
        found = (await self._gateway.query(_ARRIVED, {"hash": artifact_hash}))["arrivedParts"]
        return dict(zip(found["arrived"], found["checksums"], strict=True)) if found else {}

    async def links(self, artifact_hash: str, numbers: list[int]) -> list[PartLink]:
        answer = await self._gateway.query_result("uploadParts", _PARTS, {"hash": artifact_hash, "numbers": numbers})
        return [PartLink(part["number"], part["url"], part["sizeBytes"]) for part in answer["parts"]]

    async def complete(self, artifact_hash: str, checksums: list[str]) -> None:
        wanted = {"hash": artifact_hash, "checksums": checksums}
        await self._gateway.query_result("completeVodUpload", _COMPLETE, wanted)

    async def abort(self, artifact_hash: str) -> None:
        await self._gateway.query_result("abortVodUpload", _ABORT, {"hash": artifact_hash})

    async def state(self, artifact_hash: str) -> VodState:
        vod = (await self._gateway.query(_STATE, {"hash": artifact_hash}))["vod"]
        if vod is None:
            raise errors.NotFound("the upload was deleted", why="it was deleted")
        return VodState(vod["status"], vod["progressPercent"], vod["errorCode"], vod["errorMessage"])


# Waiting for a gateway that is away for a moment, as it is when it is started again.
#
# Invariant: only calls that may be made again come here, and no outage is waited for longer than the limit.

Report = Callable[[str], None]
Answer = TypeVar("Answer")
GO_ON = "Run the same command again to continue the upload."


@dataclass(frozen=True, slots=True)
class Waits:
    away_s: float = 60.0  # a restart takes some seconds, a slow one with migrations some more
    pause_s: float = 0.5


class RetryPolicy:
    def __init__(self, waits: Waits, report: Report) -> None:
        self.waits = waits
        self._report = report
        self._reported = False

    async def ask(self, call: Callable[[], Awaitable[Answer]]) -> Answer:
        """What the call answers, as soon as it does; raises what does not pass by itself."""
        trouble = errors.Unavailable("the upload stopped before it was complete")
        try:
            async with asyncio.timeout(None) as limit:
                while True:
                    try:
                        answer = await call()
                    except errors.TouchlineError as error:
                        if not error.retryable:
                            raise
                        trouble = error
                        self._begin_to_wait(error, limit)
                        await asyncio.sleep(self.waits.pause_s)
                    else:
                        self._reported = False
                        return answer
        except TimeoutError:
            why = f"{trouble} for {self.waits.away_s:g} s"
            raise errors.Unavailable("the gateway cannot be reached", why=why, hint=GO_ON) from trouble

    def _begin_to_wait(self, error: errors.TouchlineError, limit: asyncio.Timeout) -> None:
        if limit.when() is None:
            limit.reschedule(asyncio.get_running_loop().time() + self.waits.away_s)
        if not self._reported:
            self._report(f"{error}; trying again for up to {self.waits.away_s:g} s")
            self._reported = True


async def outlasting(call: Callable[[], Awaitable[Answer]], tries: int) -> Answer:
    """What took the gateway too long goes on there: whoever asks again waits for the same end."""
    for _ in range(tries - 1):
        with suppress(errors.DeadlineExceeded):
            return await call()
    return await call()


# One part on its way to the object store, as often as it takes.
#
# Invariant: no more is sent at once than there are slots, and each try has a link that was just signed. The checksum is
# that of the bytes that were read for sending.

PARALLEL = 3
TRIES = 5
TRIES_WHEN_REFUSED = 2  # the link may have expired; when a new one is refused, the third would be, too
PASSES = frozenset({408, 425, 429})
REASON = re.compile(r"<Code>(\w{1,64})</Code>")


class PartSender:
    def __init__(self, api: UploadApi, store: httpx.AsyncClient, upload: Upload, retry: RetryPolicy) -> None:
        self._api, self._store, self._upload, self._retry = api, store, upload, retry
        self._slots = asyncio.Semaphore(PARALLEL)

    async def send(self, ticket: Ticket, link: PartLink) -> str:
        """Returns the checksum."""
        async with self._slots:
            failures = 0
            while isinstance(trouble := await self._put(ticket, link), errors.TouchlineError):
                failures += 1
                if failures >= (TRIES if trouble.retryable else TRIES_WHEN_REFUSED):
                    raise trouble
                await asyncio.sleep(self._retry.waits.pause_s * 2 ** (failures - 1))
                [link] = await self._retry.ask(partial(self._api.links, ticket.artifact_hash, [link.number]))
            return trouble

    async def checksum(self, ticket: Ticket, number: int) -> str:
        """Of a part of the file that is not sent."""
        start = (number - 1) * ticket.part_size_bytes
        return await self._upload.checksum(start, min(ticket.part_size_bytes, self._upload.size_bytes - start))

    async def _put(self, ticket: Ticket, link: PartLink) -> errors.TouchlineError | str:
        digest = new_digest()
        body = self._upload.slice((link.number - 1) * ticket.part_size_bytes, link.size_bytes, digest)
        try:
            answer = await self._store.put(link.url, content=body, headers={"Content-Length": str(link.size_bytes)})
        except httpx.RequestError as error:
            why = f"{_place(link)} did not accept part {link.number} ({type(error).__name__})"
            return errors.Unavailable("the object store cannot be reached", why=why, hint=GO_ON)
        return digest.hexdigest() if answer.is_success else trouble_of(answer, link)


def trouble_of(answer: httpx.Response, link: PartLink) -> errors.TouchlineError:
    """What passes by itself, and what somebody must fix."""
    reason = REASON.search(answer.text[:10_000])
    said = f"{answer.status_code} {reason[1]}" if reason else str(answer.status_code)
    why = f"{_place(link)} answers {said} to part {link.number}"
    if answer.status_code >= 500 or answer.status_code in PASSES:
        return errors.Unavailable("the object store does not accept the file at the moment", why=why, hint=GO_ON)
    hint = "Ask an administrator to check `objects.public_url`, the proxy in front of the object store, and the clocks."
    return errors.SetupError("the object store refuses the file", why=why, hint=hint)


def _place(link: PartLink) -> str:
    """Without the rest, which is signed."""
    parts = urlsplit(link.url)
    return f"{parts.scheme}://{parts.netloc}"


LINKS_AT_ONCE = 20
TURNS = 1000
CREATES = 3
MENDS = 3  # how often parts that arrived damaged are sent again
CHECKS = 60  # a large file is checked for longer than one request may take
ENDED = {"failed", "deleted"}


class PartsDiffer(errors.InvalidInput):
    """What the object store has is not what the file has: it may be sent again."""


class Transfer:
    def __init__(
        self, api: UploadApi, store: httpx.AsyncClient, upload: Upload, report: Report, waits: Waits | None = None
    ) -> None:
        self._api, self._upload, self._report = api, upload, report
        self._retry = RetryPolicy(waits or Waits(), report)
        self._sender = PartSender(api, store, upload, self._retry)
        self._sent = 0
        self._checksums: dict[int, str] = {}  # of the file's own parts, as they become known

    async def run(self, server: str) -> Ticket:
        self._upload.check()
        ticket = await self._begin(server)
        if ticket.takes_parts:
            for _ in range(MENDS - 1):
                with suppress(PartsDiffer):
                    await self._send_and_complete(ticket)
                    return ticket
            await self._send_and_complete(ticket)
        return ticket

    async def _send_and_complete(self, ticket: Ticket) -> None:
        await self._send_unchanged(ticket)
        self._report("checking which parts have arrived")
        checksums = [self._checksums[number] for number in range(1, ticket.part_count + 1)]
        complete = partial(self._api.complete, ticket.artifact_hash, checksums)
        try:
            await self._retry.ask(partial(outlasting, complete, CHECKS))
        except errors.InvalidInput as error:
            if error.field != "parts":
                raise
            self._report(str(error))
            raise PartsDiffer(error.what, field=error.field, why=error.why, hint=error.hint) from error

    async def _send_unchanged(self, ticket: Ticket) -> None:
        """A file that changed on the way is given up there as well, with all that arrived of it."""
        try:
            await self._send_missing(ticket)
            self._upload.require_unchanged()
        except FileChanged:
            with suppress(errors.TouchlineError):  # then the server gives it up by itself, when its time is over
                await self._retry.ask(partial(self._api.abort, ticket.artifact_hash))
            raise

    async def _begin(self, server: str) -> Ticket:
        """What was deleted or has failed begins anew: the next turn of the same file."""
        upload = self._upload
        for turn in range(TURNS):
            with suppress(errors.Conflict):
                request = (upload.key(server, turn), upload.path.name, upload.size_bytes, upload.title)
                return await outlasting(partial(self._api.create, *request), CREATES)
        why = f"it was deleted or failed {TURNS} times"
        raise errors.Conflict("this file cannot be uploaded again", why=why, hint="Copy the file and upload the copy.")

    async def wait_until_playable(self, ticket: Ticket) -> None:
        """Tells every change; raises what stopped it."""
        told = ""
        while True:
            state = await self._retry.ask(partial(self._api.state, ticket.artifact_hash))
            if (text := _progress(state)) != told:
                self._report(text)
                told = text
            if state.status == "ready":
                return
            if state.status in ENDED:
                raise errors.InvalidInput(
                    state.error_message or f"the video was {state.status}", why=state.error_code or ""
                )
            await asyncio.sleep(self._retry.waits.pause_s)

    async def _send_missing(self, ticket: Ticket) -> None:
        """First what is not there, then what is there otherwise than in the file."""
        arrived = await self._retry.ask(partial(self._api.arrived, ticket.artifact_hash))
        missing = [number for number in range(1, ticket.part_count + 1) if number not in arrived]
        self._sent = ticket.part_count - len(missing)
        await gather_or_cancel(self._send_all(ticket, missing), self._read_all(ticket, sorted(arrived)))
        damaged = [number for number, there in sorted(arrived.items()) if self._checksums[number] != there]
        self._sent -= len(damaged)
        await self._send_all(ticket, damaged)

    async def _send_all(self, ticket: Ticket, wanted: list[int]) -> None:
        for start in range(0, len(wanted), LINKS_AT_ONCE):
            numbers = wanted[start : start + LINKS_AT_ONCE]
            links = await self._retry.ask(partial(self._api.links, ticket.artifact_hash, numbers))
            await gather_or_cancel(*(self._send(ticket, link) for link in links))

    async def _read_all(self, ticket: Ticket, numbers: list[int]) -> None:
        """One after the other, while others are sent."""
        for number in numbers:
            if number not in self._checksums:
                self._checksums[number] = await self._sender.checksum(ticket, number)

    async def _send(self, ticket: Ticket, link: PartLink) -> None:
        self._checksums[link.number] = await self._sender.send(ticket, link)
        self._sent += 1
        self._report(f"sent {self._sent} of {ticket.part_count} parts")


def _progress(state: VodState) -> str:
    if state.status == "processing" and state.progress_percent is not None:
        return f"processing {state.progress_percent}%"
    return state.status or "waiting"


SILENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Done:
    artifact_hash: str
    playback_id: str
    url: str


async def send(access: Access, file: Path, title: str, report: Report) -> Done:
    """Uploads a file and waits until it plays."""
    upload = Upload(file, title or file.stem)
    upload.check()
    async with (
        open_gateway(access, "touchline upload", Scope.READ, Scope.WRITE, timeout_s=SILENCE_S) as gateway,
        httpx.AsyncClient(timeout=SILENCE_S) as store,  # without the token: its links are signed
    ):
        transfer = Transfer(UploadApi(gateway), store, upload, report)
        ticket = await transfer.run(gateway.server)
        await transfer.wait_until_playable(ticket)
        return Done(ticket.artifact_hash, ticket.playback_id, f"{gateway.server}/watch/{ticket.playback_id}")
