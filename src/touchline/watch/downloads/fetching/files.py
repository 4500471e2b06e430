"""A video of a stranger into a file of ours.

Invariant: what cannot be a video by its first bytes is not read further.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from touchline.kernel.values import format_bytes
from touchline.platform.files import open_file
from touchline.watch.downloads.rules import (
    AccessForbidden,
    Blocked,
    Busy,
    DownloadFailure,
    Gone,
    Malformed,
    NoAnswer,
    TooSmall,
)

from .client import FetchAnswer, Fetcher, FetchRequest

# The first box of an MP4 file: which kinds begin one, behind four bytes of length.
FIRST_BOXES = frozenset({b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"sidx"})
BEGINNING = 8
STATUSES: dict[int, tuple[type[DownloadFailure], str]] = {
    401: (AccessForbidden, "access is forbidden"),
    403: (AccessForbidden, "access is forbidden"),
    404: (Gone, "it is not there"),
    410: (Gone, "it is not there any more"),
    451: (Blocked, "it is blocked"),
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
    fetcher: Fetcher, url: str, target: Path, sizes: Sizes, tell: Callable[[str], None] = lambda _: None
) -> FetchedFile:
    """Into a new file. `tell` hears of progress."""
    async with fetcher.ask(FetchRequest(url), sizes.largest) as answer:
        failure = failure_of(answer)
        if failure is not None:
            raise failure
        fetched = await _write(answer, target, tell)
    if fetched.size_bytes < sizes.smallest:
        raise TooSmall("the file is too small for a video", why=f"it has {format_bytes(fetched.size_bytes)}")
    return fetched


def failure_of(answer: FetchAnswer) -> DownloadFailure | None:
    """What a status means, apart from 200."""
    status, where = answer.status, f"{answer.target.host} answered {answer.status}"
    if status == 200:
        return None
    if status == 429:
        return Busy("the server is asked too often", retry_after=answer.retry_after, why=where)
    if status >= 500:
        return NoAnswer("the server failed", why=where)
    kind, what = STATUSES.get(status, (Malformed, "this is no answer to a request for a file"))
    return kind(what, why=where)


async def _write(answer: FetchAnswer, target: Path, tell: Callable[[str], None]) -> FetchedFile:
    digest, size, beginning = hashlib.md5(usedforsecurity=False), 0, b""
    async with open_file(target, "xb") as file:
        async for chunk in answer.chunks:
            if size < BEGINNING:
                beginning = (beginning + chunk)[:BEGINNING]
                _check_beginning(beginning)
            size += len(chunk)
            digest.update(chunk)
            await asyncio.to_thread(file.write, chunk)
            tell(f"{size} bytes")
        await asyncio.to_thread(file.flush)
    return FetchedFile(size, digest.hexdigest())


def _check_beginning(content: bytes) -> None:
    if len(content) == BEGINNING and content[4:] not in FIRST_BOXES:
        raise Malformed("this does not begin like a video", why=repr(content))
