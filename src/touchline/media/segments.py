"""Segments of one video as the source of a clip: fragments of MP4 behind one header, or pieces of MPEG-TS.

They come as paths and descriptors, never as a playlist that names them. What is still being recorded is an iterator
that gives the next segment when it is complete: it is asked until the range is covered, or nothing follows.
Invariant: nothing is parsed here; bytes are put behind each other, and only those that the range needs.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from touchline.kernel import InvalidInput, NotFound, Unavailable, format_bytes
from touchline.media.sandbox.model import opened

from .errors import EmptyRange
from .rules import ClipRange

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
            raise EmptyRange("this video has no frames in this range", why="it has no segment in this range")
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


# The segments that an HLS playlist on disk names, as the source of a clip; also while it grows. Times count from the
# first segment that the playlist names when it is opened. Invariant: a segment is a file in the playlist's folder or
# below. A playlist cannot lead anywhere else.

LARGEST_PLAYLIST = 16 * 1024**2
PAUSE_S = 0.5
LEAST_TIMEOUT_S = 30.0
OF_TARGET = 3  # target durations without a new segment, after which a recording counts as ended
_TAG = re.compile(r"#(EXT[A-Z0-9-]*)(?::(.*))?")
_NAME = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)
_MAP = re.compile(r'URI="([^"]*)"')
_REFUSED = {
    "EXT-X-STREAM-INF": "it is a master playlist; choose the playlist of one rendition",
    "EXT-X-BYTERANGE": "its segments are byte ranges of files",
    "EXT-X-DISCONTINUITY": "its timestamps restart in the middle",
}


@dataclass(frozen=True, slots=True)
class PlaylistEntry:
    name: str
    duration_us: int


@dataclass(frozen=True, slots=True)
class RecordingPlaylist:
    """What a playlist says at one moment."""

    entries: tuple[PlaylistEntry, ...]
    first: int  # the number of the first entry; it rises when older ones are dropped
    header: str | None
    target_s: float
    is_complete: bool


def parse_recording(text: str) -> RecordingPlaylist:
    if not text.startswith("#EXTM3U"):
        raise InvalidInput("this is not a playlist", why="it does not start with #EXTM3U")
    entries, tags, duration_us = list[PlaylistEntry](), dict[str, str](), 0
    for line in filter(None, (line.strip() for line in text.splitlines())):
        if tag := _TAG.fullmatch(line):
            name, value = tag[1], tag[2] or ""
            _check_tag(name, value, tags)
            tags[name] = value
            duration_us = round(_number(value.partition(",")[0]) * 1_000_000) if name == "EXTINF" else duration_us
        elif not line.startswith("#"):
            entries.append(PlaylistEntry(line, duration_us))
    header = _MAP.search(tags.get("EXT-X-MAP", ""))
    return RecordingPlaylist(
        entries=tuple(entries),
        first=int(_number(tags.get("EXT-X-MEDIA-SEQUENCE", "0"))),
        header=header[1] if header else None,
        target_s=_number(tags.get("EXT-X-TARGETDURATION", "0")),
        is_complete="EXT-X-ENDLIST" in tags,
    )


def segments_of(playlist: Path) -> SegmentSource:
    """Waits for segments that a growing playlist does not name yet, as long as the clip needs them."""
    listing = _read(playlist)
    header = _inside(playlist.parent, listing.header) if listing.header else None
    return SegmentSource(_followed(playlist, listing), header)


async def _followed(playlist: Path, listing: RecordingPlaylist) -> AsyncIterator[SourceSegment]:
    start_us, following, grown_at = 0, listing.first, time.monotonic()
    while True:
        if listing.first > following:
            raise Unavailable(
                "the recording moved on too fast", why=f"segment {following} is no longer in the playlist"
            )
        for entry in listing.entries[following - listing.first :]:
            yield SourceSegment(_inside(playlist.parent, entry.name), start_us, entry.duration_us)
            start_us, following, grown_at = start_us + entry.duration_us, following + 1, time.monotonic()
        if listing.is_complete:
            return
        _check_timeout(listing, time.monotonic() - grown_at)
        await asyncio.sleep(PAUSE_S)
        listing = await asyncio.to_thread(_read, playlist)


def _check_timeout(listing: RecordingPlaylist, waited_s: float) -> None:
    if waited_s > max(LEAST_TIMEOUT_S, OF_TARGET * listing.target_s):
        why = f"the playlist has not grown for {waited_s:.0f} s, and is not marked as complete"
        raise Unavailable("the recording has stopped", why=why, hint="Choose a range that is recorded already.")


def _check_tag(name: str, value: str, before: dict[str, str]) -> None:
    why = _REFUSED.get(name)
    if name == "EXT-X-KEY" and "METHOD=NONE" not in value:
        why = "its segments are encrypted"
    if name == "EXT-X-MAP" and before.get(name, value) != value:
        why = "its segments have different headers"
    if why:
        raise InvalidInput("this playlist cannot be clipped", why=why)


def _inside(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            "a playlist refers to a file outside of its folder", why=f"{name[:100]!r} is not a file name"
        )
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput(
            "a playlist refers to a file outside of its folder", why=f"{name[:100]!r} is a link to another folder"
        )
    return path


def _read(playlist: Path) -> RecordingPlaylist:
    try:
        with playlist.open("rb") as file:
            content = file.read(LARGEST_PLAYLIST + 1)
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {playlist}") from error
    except OSError as error:
        raise InvalidInput(f"{playlist} cannot be read", why=error.strerror or "") from error
    if len(content) > LARGEST_PLAYLIST:
        raise InvalidInput("this playlist is too long", why=f"it has more than {format_bytes(LARGEST_PLAYLIST)}")
    return parse_recording(content.decode(errors="replace"))


def _number(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{0,9})?", text.strip(), re.ASCII):
        raise InvalidInput("this playlist is malformed", why=f"{text[:100]!r} is not a number")
    return float(text)
