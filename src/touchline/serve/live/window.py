"""The window of a live stream: its last hours in files beside the node's copies, as far as the budget allows.

    live/{stream}-{session}/segment_{number}.m4s    parts, behind each other

Invariants: a part is served when all of it lies there. Where the disk takes no more, the oldest segments go, and what
comes is kept in memory for a few segments: viewers at the live edge see nothing of it. Nothing outlives the process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from prometheus_client import Counter, Gauge

from touchline.kernel import Clock, NotFound
from touchline.media.live import InitMessage, PartMessage

from .model import LiveSegment
from .playlists import Part, Reload, Segment, WindowView, is_there, round_up

MICROSECOND = timedelta(microseconds=1)
KEPT_IN_MEMORY = 4  # segments, while the disk is full
MOST_IN_MEMORY = 64 * 1024**2  # of one stream
USED = Gauge("touchline_live_window_bytes", "Disk space that the windows of live streams use.")
EARLY = Counter("touchline_live_segments_dropped", "Segments deleted before the end of the window.", ["reason"])
logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LiveStorage:
    """The folder of all windows, and what they may use of the disk together."""

    root: Path
    budget_bytes: int
    used_bytes: int = 0
    windows: list[StreamWindow] = field(default_factory=list["StreamWindow"])

    def open(self) -> int:
        """Clears what an earlier process left: its publishers are gone, and so are the players' sessions. Blocking.
        Returns how many windows there were."""
        left = [path for path in self.root.glob("*") if path.is_dir()]
        for path in left:
            shutil.rmtree(path, ignore_errors=True)
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        return len(left)

    def count(self, size: int) -> None:
        self.used_bytes += size
        USED.set(self.used_bytes)

    def require_room(self, wanted_bytes: int) -> None:
        """The oldest segments of the largest windows go."""
        while self.used_bytes + wanted_bytes > self.budget_bytes:
            largest = max(self.windows, key=lambda window: window.used_bytes, default=None)
            if largest is None or not largest.drop_oldest("budget"):
                return


@dataclass(slots=True)
class StreamWindow:
    """Of one session."""

    folder: Path
    storage: LiveStorage
    clock: Clock
    length: timedelta
    part_target: timedelta
    sequence: int  # of the next segment
    target: timedelta
    used_bytes: int = 0
    has_ended: bool = False
    codecs: str = ""
    width: int = 0
    height: int = 0
    poster: bytes = b""
    breaks_before: int = 0
    _segments: deque[Segment] = field(default_factory=deque[Segment])
    _memory: dict[int, bytearray] = field(default_factory=dict[int, bytearray])
    _inits: dict[int, bytes] = field(default_factory=dict[int, bytes])
    _last_init: int = 0
    _is_broken: bool = False
    _anchor: datetime | None = None  # the node's time at which the media time began
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def view(self) -> WindowView:
        return WindowView(list(self._segments), self.target, self.part_target, self.breaks_before, self.has_ended)

    @property
    def next_due(self) -> datetime | None:
        """When the picture after the last part is due, by the node's clock."""
        return self._segments[-1].ends_at if self._segments else None

    # --- What comes in.

    def take_init(self, message: InitMessage, data: bytes) -> None:
        self._last_init += 1
        self._inits[self._last_init] = data
        self.codecs, self.width, self.height = message.codecs, message.width, message.height

    async def take_part(self, message: PartMessage, data: bytes) -> Sequence[LiveSegment]:
        """The segments that are closed now: what came before a discontinuity, too."""
        duration, closed = message.duration_us * MICROSECOND, list[LiveSegment]()
        last = self._segments[-1] if self._segments else None
        if last and not last.is_closed and self._begins_another(message):
            closed.append(self._close(last))
        segment = last if last and not last.is_closed else self._new_segment(message, duration)
        part = Part(segment.size, len(data), duration, message.independent)
        await self._write(segment, data)
        if not segment.parts:  # now there is something of it
            self._segments.append(segment)
            self.sequence, self._is_broken = segment.sequence + 1, False
        segment.parts.append(part)
        self.part_target = max(self.part_target, duration)
        if message.ends_segment:
            closed.append(self._close(segment))
        self._notify()
        return closed

    def break_off(self) -> LiveSegment | None:
        """The publisher is gone. What it sent is closed, and what comes next is not continuous with it."""
        closed = self._close(self._segments[-1]) if self._segments and not self._segments[-1].is_closed else None
        self._is_broken = bool(self._segments)
        self._notify()
        return closed

    def end(self) -> None:
        self.has_ended = True
        self._notify()

    def _begins_another(self, message: PartMessage) -> bool:
        return message.begins_segment or message.discontinuity or self._is_broken

    def _new_segment(self, message: PartMessage, duration: timedelta) -> Segment:
        last = self._segments[-1] if self._segments else None
        follows_break = self._is_broken or (message.discontinuity and last is not None)
        if follows_break or self._anchor is None:
            self._anchor = self.clock.now() - duration - message.start_us * MICROSECOND
        starts_at = self._anchor + message.start_us * MICROSECOND
        if last is not None:
            starts_at = max(starts_at, last.ends_at)
        return Segment(self.sequence, self._last_init, starts_at, follows_break)

    def _close(self, segment: Segment) -> LiveSegment:
        segment.is_closed = True
        self.target = max(self.target, segment.duration)
        while len(self._segments) > 1 and segment.ends_at - self._segments[0].ends_at > self.length:
            self.drop_oldest("")
        return described(segment)

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    # --- Files.

    async def _write(self, segment: Segment, data: bytes) -> None:
        self.storage.require_room(len(data))
        if segment.sequence not in self._memory:
            try:
                await asyncio.to_thread(self._append, self._path(segment.sequence), segment.size, data)
            except OSError as error:
                await self._into_memory(segment, error)
            else:
                self._count(len(data))
                return
        self._memory[segment.sequence] += data
        self._bound_memory()

    def _append(self, path: Path, offset: int, data: bytes) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                written = os.pwrite(descriptor, rest, offset)
                rest, offset = rest[written:], offset + written
        finally:
            os.close(descriptor)

    async def _into_memory(self, segment: Segment, error: OSError) -> None:
        """The oldest quarter of the window makes room for what comes after it."""
        logger.warning("the window of a live stream cannot be written", extra={"reason": error.strerror or str(error)})
        for _ in range(max(1, len(self._segments) // 4)):
            self.drop_oldest("disk")
        kept = b""
        if segment.size:
            kept = await asyncio.to_thread(self._read, segment, 0, segment.size)
            self._path(segment.sequence).unlink(missing_ok=True)
            self._count(-segment.size)
        self._memory[segment.sequence] = bytearray(kept)

    def _bound_memory(self) -> None:
        """An older segment that lies on the disk goes with it: the window has no holes."""
        while len(self._memory) > KEPT_IN_MEMORY or sum(map(len, self._memory.values())) > MOST_IN_MEMORY:
            if not self.drop_oldest("disk"):
                return

    def drop_oldest(self, reason: str) -> bool:
        """False: the last one stays."""
        if len(self._segments) < 2:
            return False
        segment = self._segments.popleft()
        if reason:
            EARLY.labels(reason).inc()
        self.breaks_before += segment.follows_break
        if self._memory.pop(segment.sequence, None) is None:
            self._path(segment.sequence).unlink(missing_ok=True)
            self._count(-segment.size)
        needed = {each.init for each in self._segments} | {self._last_init}
        self._inits = {number: data for number, data in self._inits.items() if number in needed}
        return True

    def delete(self) -> None:
        """Blocking."""
        self._segments.clear()
        self._memory.clear()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._count(-self.used_bytes)
        if self in self.storage.windows:
            self.storage.windows.remove(self)

    def _count(self, size: int) -> None:
        self.used_bytes += size
        self.storage.count(size)

    def _path(self, sequence: int) -> Path:
        return self.folder / f"segment_{sequence}.m4s"

    def _read(self, segment: Segment, offset: int, size: int) -> bytes:
        if segment.sequence in self._memory:
            return bytes(self._memory[segment.sequence][offset : offset + size])
        try:
            descriptor = os.open(self._path(segment.sequence), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            raise gone() from error
        try:
            data = os.pread(descriptor, size, offset)
        finally:
            os.close(descriptor)
        if len(data) != size:
            raise gone()
        return data

    # --- What is read: by players, recordings and clips.

    async def wait(self, wanted: Reload, longest: timedelta) -> bool:
        """Until the window has it. False: it did not come in time. InvalidInput: too far ahead."""
        try:
            async with asyncio.timeout(longest.total_seconds()):
                while not is_there(self.view, wanted):
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def find(self, sequence: int) -> Segment | None:
        if not self._segments:
            return None
        index = sequence - self._segments[0].sequence
        return self._segments[index] if 0 <= index < len(self._segments) else None

    async def read(self, segment: Segment, offset: int, size: int) -> bytes:
        """NotFound: it has left the window."""
        return await asyncio.to_thread(self._read, segment, offset, size)

    def segments(self, start: datetime, end: datetime) -> Sequence[LiveSegment]:
        closed = (each for each in self._segments if each.is_closed)
        return [described(each) for each in closed if each.starts_at < end and each.ends_at > start]

    async def init_bytes(self, init: int) -> bytes:
        if init not in self._inits:
            raise gone()
        return self._inits[init]

    async def segment_bytes(self, segment: LiveSegment) -> bytes:
        found = self.find(segment.sequence)
        if found is None:
            raise gone()
        return await self.read(found, 0, found.size)


def described(segment: Segment) -> LiveSegment:
    return LiveSegment(
        sequence=segment.sequence,
        init=segment.init,
        starts_at=segment.starts_at,
        duration=segment.duration,
        size_bytes=segment.size,
        follows_break=segment.follows_break,
    )


def gone() -> NotFound:
    return NotFound("this part of the stream is not there", why="it has left the window, or is still to come")


def wait_time(view: WindowView) -> timedelta:
    """How long a player may wait for a playlist: three target durations, as the protocol says."""
    return 3 * timedelta(seconds=round_up(view.target))
