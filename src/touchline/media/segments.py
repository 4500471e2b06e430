"""Segments of one video as the source of a clip: fragments of MP4 behind one header, or pieces of MPEG-TS.

They come as paths and descriptors, never as a playlist that names them. What is still being recorded is an iterator
that gives the next segment when it is complete: it is asked until the range is covered, or nothing follows.
Invariant: nothing is parsed here; bytes are put behind each other, and only those that the range needs.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from touchline.kernel.errors import InvalidInput, Unavailable
from touchline.media.sandbox.files import opened

from .clip_model import ClipRange
from .errors import EmptyRange

LEAD_US = 1_000_000  # sound may lie in the segment before its pictures
TOLERANCE_US = 50_000  # durations are rounded where they are written down
AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """It begins with a keyframe, at `start_us` of the media time in which clips are asked for."""

    source: Path | int
    start_us: int
    duration_us: int

    @property
    def end_us(self) -> int:
        return self.start_us + self.duration_us


@dataclass(frozen=True, slots=True)
class SegmentSource:
    """In their order, without a gap. A list is all there is; an iterator may wait for more."""

    parts: Sequence[SourceSegment] | AsyncIterable[SourceSegment]
    header: Path | int | None = None  # what each of MP4 begins with; none for MPEG-TS


@asynccontextmanager
async def gathered(segments: SegmentSource, wanted: ClipRange, folder: Path) -> AsyncGenerator[tuple[int, int]]:
    """A nameless file with the segments that the range needs, and when the first picture in it is shown."""
    with tempfile.TemporaryFile(dir=folder) as together:
        first: SourceSegment | None = None
        async for segment in _needed(segments.parts, wanted):
            if first is None:
                first = segment
                await _append(together, segments.header)
            await _append(together, segment.source)
        if first is None:
            raise EmptyRange("this video has nothing there", why="no segment of it lies in this range")
        together.flush()
        yield together.fileno(), first.start_us


async def _needed(
    parts: Sequence[SourceSegment] | AsyncIterable[SourceSegment], wanted: ClipRange
) -> AsyncIterator[SourceSegment]:
    """As soon as they are there: a window that moves on may drop them later."""
    start_us, end_us = wanted.padded_start_ms * 1000 - LEAD_US, wanted.padded_end_ms * 1000
    last: SourceSegment | None = None
    async for segment in _each(parts):
        if segment.start_us >= end_us:
            return
        if segment.end_us > start_us:
            _check_order(last, segment)
            last = segment
            yield segment
        if segment.end_us >= end_us + TOLERANCE_US:
            return


async def _each(parts: Sequence[SourceSegment] | AsyncIterable[SourceSegment]) -> AsyncIterator[SourceSegment]:
    if isinstance(parts, Sequence):
        for part in parts:
            yield part
        return
    async for part in parts:
        yield part


def _check_order(last: SourceSegment | None, segment: SourceSegment) -> None:
    if segment.duration_us <= 0 or (last and abs(segment.start_us - last.end_us) > TOLERANCE_US):
        why = f"one that should start at {last.end_us if last else 0} us starts at {segment.start_us} us"
        raise InvalidInput("the segments do not follow each other", field="segments", why=why)


async def _append(together: BinaryIO, source: Path | int | None) -> None:
    if source is not None:
        with opened(source) as descriptor:
            try:
                await asyncio.to_thread(_copy, descriptor, together)
            except OSError as error:
                raise Unavailable("the segments cannot be put together", why=error.strerror or "") from error


def _copy(descriptor: int, together: BinaryIO) -> None:
    position = 0
    while data := os.pread(descriptor, AT_ONCE, position):
        together.write(data)
        position += len(data)
