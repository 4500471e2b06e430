"""Fetches from servers of strangers, bounded in bytes, time, rate and redirects; a video goes into a file.

Invariant: every hop is checked like the first; nothing of ours is sent along (no cookies, no proxy of the environment);
a body is taken as it is, so that its size is its size.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path

import httpcore

from touchline.kernel import format_bytes
from touchline.platform.files import open_file

from . import addresses, rules

# Whether bytes come fast enough. Pure: times come in from outside.


@dataclass(slots=True)
class Pace:
    """Counts in windows: who sends too little in one of them will not be done in time."""

    least_per_second: int
    window_s: float
    began: float
    received: int = 0

    def is_too_slow(self, size: int, now: float) -> bool:
        """`size` bytes came just now."""
        self.received += size
        passed = now - self.began
        if passed < self.window_s:
            return False
        slow = self.received < self.least_per_second * passed
        self.began, self.received = now, 0
        return slow


REDIRECTS = frozenset({301, 302, 303, 307, 308})
AGENT = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@dataclass(frozen=True, slots=True)
class FetchLimits:
    connect_s: float = 5.0
    silence_s: float = 15.0  # between two reads
    total_s: float = 75.0
    redirects: int = 5
    least_bytes_per_second: int = 16_000
    window_s: float = 10.0


@dataclass(frozen=True, slots=True)
class FetchRequest:
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    method: str = "GET"
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class FetchAnswer:
    status: int
    headers: Mapping[str, str]  # names in small letters
    target: addresses.Target  # the last one
    chunks: AsyncIterator[bytes]

    @property
    def declared_bytes(self) -> int | None:
        value = self.headers.get("content-length", "")
        return int(value) if value.isdecimal() and value.isascii() else None

    @property
    def retry_after(self) -> timedelta | None:
        """Only as seconds: dates of strangers' clocks are not worth the trouble."""
        value = self.headers.get("retry-after", "")
        return timedelta(seconds=int(value)) if value.isdecimal() and value.isascii() and len(value) < 6 else None


class Fetcher:
    """`resolve` and `judge` say where names lead and which addresses are open to strangers."""

    def __init__(
        self,
        policy: addresses.Policy,
        limits: FetchLimits | None = None,
        *,
        resolve: addresses.Resolve = addresses.resolve_by_system,
        judge: addresses.Judge = addresses.is_public,
    ) -> None:
        self.policy, self.limits = policy, limits or FetchLimits()
        self._network = addresses.GuardedNetwork(policy, resolve, judge)

    @asynccontextmanager
    async def ask(self, request: FetchRequest, largest: int) -> AsyncGenerator[FetchAnswer]:
        """The answer of the last hop, whatever its status. What goes wrong is a `DownloadFailure`."""
        try:
            async with (
                asyncio.timeout(self.limits.total_s),
                self._pool() as pool,
                self._arrive(pool, request) as (target, response),
            ):
                yield self._answer(target, response, largest)
        except TimeoutError as error:
            raise rules.TooSlow("the download timed out", why=f"after {self.limits.total_s:g} s") from error
        except httpcore.TimeoutException as error:
            raise rules.TooSlow("the server stopped sending", why=type(error).__name__) from error
        except httpcore.RemoteProtocolError as error:
            raise _broken_off(error) from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise rules.NoAnswer("the server could not be reached", why=str(error) or type(error).__name__) from error

    async def read(self, request: FetchRequest, largest: int) -> tuple[FetchAnswer, bytes]:
        """A small document as a whole."""
        async with self.ask(request, largest) as answer:
            content = b"".join([chunk async for chunk in answer.chunks])
        return answer, content

    def _pool(self) -> httpcore.AsyncConnectionPool:
        return httpcore.AsyncConnectionPool(
            ssl_context=_tls(), max_connections=1, http2=False, retries=0, network_backend=self._network
        )

    @asynccontextmanager
    async def _arrive(
        self, pool: httpcore.AsyncConnectionPool, request: FetchRequest
    ) -> AsyncGenerator[tuple[addresses.Target, httpcore.Response]]:
        target = addresses.checked(request.url, self.policy)
        for _ in range(self.limits.redirects + 1):
            async with self._sent(pool, request, target) as response:
                if response.status not in REDIRECTS:
                    yield target, response
                    return
                location = _headers(response).get("location", "")
            target = addresses.next_target(target, location, self.policy)
        raise rules.RefusedAddress("too many redirects", why=f"more than {self.limits.redirects}")

    @asynccontextmanager
    async def _sent(
        self, pool: httpcore.AsyncConnectionPool, request: FetchRequest, target: addresses.Target
    ) -> AsyncGenerator[httpcore.Response]:
        headers = {
            "User-Agent": AGENT, "Accept": "*/*", **request.headers,
            "Host": target.authority, "Accept-Encoding": "identity", "Connection": "close",
        }  # fmt: skip
        timeouts = {"connect": self.limits.connect_s, "read": self.limits.silence_s, "write": self.limits.silence_s}
        async with pool.stream(
            request.method,
            httpcore.URL(
                scheme=target.scheme.encode(), host=target.host.encode(), port=target.port, target=target.path.encode()
            ),
            headers={name.encode(): value.encode("latin-1", "replace") for name, value in headers.items()},
            content=request.body,
            extensions={"timeout": timeouts},
        ) as response:
            yield response

    def _answer(self, target: addresses.Target, response: httpcore.Response, largest: int) -> FetchAnswer:
        headers = _headers(response)
        answer = FetchAnswer(response.status, headers, target, self._chunks(response, largest))
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise rules.Malformed("the response is compressed", why="compression was not requested")
        declared = answer.declared_bytes or 0
        if declared > largest:
            why = f"{format_bytes(declared)}; the limit is {format_bytes(largest)}"
            raise rules.TooLarge("the response is too large", why=why)
        return answer

    async def _chunks(self, response: httpcore.Response, largest: int) -> AsyncIterator[bytes]:
        loop, size = asyncio.get_running_loop(), 0
        pace = Pace(self.limits.least_bytes_per_second, self.limits.window_s, loop.time())
        async for chunk in response.aiter_stream():
            size += len(chunk)
            if size > largest:
                raise rules.TooLarge("the response is too large", why=f"more than {format_bytes(largest)}")
            if pace.is_too_slow(len(chunk), loop.time()):
                raise rules.TooSlow(
                    "the download is too slow", why=f"less than {pace.least_per_second} bytes per second"
                )
            yield chunk


@cache
def _tls() -> ssl.SSLContext:
    """Reading all the certificates of a system takes a while."""
    return ssl.create_default_context()


def _headers(response: httpcore.Response) -> dict[str, str]:
    """Of several with one name the last."""
    return {name.decode("latin-1").lower(): value.decode("latin-1").strip() for name, value in response.headers}


def _broken_off(error: httpcore.RemoteProtocolError) -> rules.DownloadFailure:
    """The library has one class for a body that ended early and for an answer that is none."""
    text = str(error)
    if "without sending complete message body" in text or "incomplete chunked read" in text:
        return rules.CutOff("the response is incomplete")
    return rules.NoAnswer("the response is not valid HTTP", why=text)


# A video of a stranger into a file of ours.
# Invariant: what cannot be a video by its first bytes is not read further.

# The first box of an MP4 file: which kinds begin one, behind four bytes of length.
FIRST_BOXES = frozenset({b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"sidx"})
BEGINNING = 8
STATUSES: dict[int, tuple[type[rules.DownloadFailure], str]] = {
    401: (rules.AccessForbidden, "access is forbidden"),
    403: (rules.AccessForbidden, "access is forbidden"),
    404: (rules.Gone, "not found"),
    410: (rules.Gone, "it was removed"),
    451: (rules.Blocked, "it is blocked"),
}


@dataclass(frozen=True, slots=True)
class Sizes:
    smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class FetchedFile:
    size_bytes: int
    md5: str  # tells files apart, as it did before us; nothing rests on it


async def fetch_video(
    fetcher: Fetcher, url: str, target: Path, sizes: Sizes, report: Callable[[str], None] = lambda _: None
) -> FetchedFile:
    """Into a new file. `tell` hears of progress."""
    async with fetcher.ask(FetchRequest(url), sizes.largest) as answer:
        failure = failure_of(answer)
        if failure is not None:
            raise failure
        fetched = await _write(answer, target, report)
    if fetched.size_bytes < sizes.smallest:
        raise rules.TooSmall("the file is too small for a video", why=f"it has {format_bytes(fetched.size_bytes)}")
    return fetched


def failure_of(answer: FetchAnswer) -> rules.DownloadFailure | None:
    """What a status means, apart from 200."""
    status, where = answer.status, f"{answer.target.host} answered {answer.status}"
    if status == 200:
        return None
    if status == 429:
        return rules.Busy("the server limits the number of requests", retry_after=answer.retry_after, why=where)
    if status >= 500:
        return rules.NoAnswer("the server failed", why=where)
    kind, what = STATUSES.get(status, (rules.Malformed, "unexpected response to a download"))
    return kind(what, why=where)


async def _write(answer: FetchAnswer, target: Path, report: Callable[[str], None]) -> FetchedFile:
    digest, size, beginning = hashlib.md5(usedforsecurity=False), 0, b""
    async with open_file(target, "xb") as file:
        async for chunk in answer.chunks:
            if size < BEGINNING:
                beginning = (beginning + chunk)[:BEGINNING]
                _check_beginning(beginning)
            size += len(chunk)
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
            report(f"{size} bytes")
        await asyncio.to_thread(file.flush)
    return FetchedFile(size, digest.hexdigest())


def _check_beginning(content: bytes) -> None:
    if len(content) == BEGINNING and content[4:] not in FIRST_BOXES:
        raise rules.Malformed("the file format is not a video", why=repr(content))
