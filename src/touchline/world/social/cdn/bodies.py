"""Bodies of videos: whole, slow, broken off, or no video at all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from .ranges import Span

CHUNK = 256 * 1024
SLOW_TURNS_PER_SECOND = 5


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a slow body comes."""

    bytes_per_second: int = 200_000


async def from_file(path: Path, span: Span, chunk: int = CHUNK) -> AsyncIterator[bytes]:
    """Opened anew for each part: whoever hangs up while a thread opens it leaves no open file behind."""
    at, left = span.start, len(span)
    while left > 0 and (read := await asyncio.to_thread(_read, path, at, min(chunk, left))):
        at, left = at + len(read), left - len(read)
        yield read


def _read(path: Path, at: int, most: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(most)


async def slowly(path: Path, span: Span, pace: Pace) -> AsyncIterator[bytes]:
    chunk = max(1, pace.bytes_per_second // SLOW_TURNS_PER_SECOND)
    async for read in from_file(path, span, chunk):
        yield read
        await asyncio.sleep(len(read) / pace.bytes_per_second)


def broken(key: str, length: int) -> bytes:
    """The same bytes for the same video, and no video in them."""
    return random.Random(key).randbytes(length)  # noqa: S311 - for the look of it
