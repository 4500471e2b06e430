"""A live stream through the sandbox: bytes of FLV or MPEG-TS in, parts of fragmented MP4 out, by one child for each
publisher.

Invariant: whoever writes waits for the child, and the child for whoever takes its parts, so that nothing piles up.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeAlias

from touchline.kernel import TouchlineError

from .child.live_messages import HEAD, InitMessage, Message, PartMessage, PosterMessage, decode_head, decode_message
from .child.order import ChildLimits
from .errors import CrashingVideo
from .sandbox import Sandbox, Task

__all__ = ["InitMessage", "LiveFormat", "LiveReader", "Message", "PartMessage", "PosterMessage"]

Take: TypeAlias = Callable[[Message, bytes], Awaitable[None]]
MICROSECOND = timedelta(microseconds=1)
DAY_S = 24 * 3600  # of processor time: at a few hundredths of a core it is months
FOREVER_S = 10 * 365 * DAY_S
CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class LiveFormat:
    """What comes in, and how it is cut."""

    container: str  # flv or mpegts
    segment: timedelta
    part: timedelta
    longest_keyframe_gap: timedelta
    longest_jump: timedelta
    poster_every: timedelta
    poster_width: int


class LiveReader:
    """One publisher's. `run` it in a task of its own, `write` into it, and `end` it."""

    def __init__(self, sandbox: Sandbox, wanted: LiveFormat, take: Take) -> None:
        self._sandbox = sandbox
        self._wanted = wanted
        self._take = take
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._open = asyncio.Event()

    async def run(self) -> None:
        """Until the publisher has ended and all its parts are taken. TouchlineError: why it cannot be read."""
        try:
            self._reader, self._writer = await asyncio.open_connection(sock=self._ours, limit=CHUNK_BYTES)
            self._open.set()
            async with asyncio.TaskGroup() as group:
                taking = group.create_task(self._take_all(self._reader))
                try:
                    await self._sandbox.run(self._task(), LiveEnd)
                finally:
                    self._theirs.close()  # what the child has said can be read to its end
                await taking
        except* TouchlineError as failed:
            raise _first(failed) from failed
        finally:
            self._theirs.close()
            if self._writer:
                self._writer.close()
            else:
                self._ours.close()
            self._open.set()

    async def write(self, data: bytes) -> None:
        """Nothing where it has ended already: `run` says why."""
        await self._open.wait()
        if self._writer is None or self._writer.is_closing():
            return
        with suppress(ConnectionError):
            self._writer.write(data)
            await self._writer.drain()

    async def end(self) -> None:
        await self._open.wait()
        if self._writer and not self._writer.is_closing():
            with suppress(OSError):
                self._writer.write_eof()

    def close(self) -> None:
        """Of one that was never run."""
        self._ours.close()
        self._theirs.close()
        self._open.set()

    async def _take_all(self, reader: asyncio.StreamReader) -> None:
        while True:
            try:
                head = await reader.readexactly(HEAD.size)
                kind, header_length, length = decode_head(head)
                message = decode_message(kind, await reader.readexactly(header_length))
                content = await reader.readexactly(length)
            except (asyncio.IncompleteReadError, ConnectionError):
                return  # it has ended, perhaps in the middle of a part
            except ValueError as error:
                raise CrashingVideo("the program that reads this stream crashed", why=str(error)) from error
            await self._take(message, content)

    def _task(self) -> Task:
        settings, wanted = self._sandbox.settings, self._wanted
        limits = ChildLimits(
            wall_s=FOREVER_S,
            cpu_s=DAY_S,
            memory_bytes=settings.memory,
            file_bytes=0,
            output_bytes=0,
            processes=settings.processes,
        )
        options = {
            "container": wanted.container,
            "segment_us": wanted.segment // MICROSECOND,
            "part_us": wanted.part // MICROSECOND,
            "longest_gap_us": wanted.longest_keyframe_gap // MICROSECOND,
            "longest_jump_us": wanted.longest_jump // MICROSECOND,
            "poster_every_us": wanted.poster_every // MICROSECOND,
            "poster_width": wanted.poster_width,
            "most_pixels": settings.largest_picture,
        }
        return Task("live", limits, options, line=self._theirs)


@dataclass(frozen=True, slots=True)
class LiveEnd:
    segments: int


def _first(group: ExceptionGroup[TouchlineError]) -> TouchlineError:
    found = group.exceptions[0]
    return _first(found) if isinstance(found, ExceptionGroup) else found
