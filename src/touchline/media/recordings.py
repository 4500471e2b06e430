"""The segments that an HLS playlist on disk names, as the source of a clip; also while it grows.

Times count from the first segment that the playlist names when it is opened.
Invariant: a segment is a file in the playlist's folder or below. A playlist cannot lead anywhere else.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from touchline.kernel.errors import InvalidInput, NotFound, Unavailable

from .segments import SegmentSource, SourceSegment

LARGEST_PLAYLIST = 16 * 1024**2
PAUSE_S = 0.5
LEAST_PATIENCE_S = 30.0
OF_TARGET = 3  # target durations without a new segment, after which a recording counts as ended
_TAG = re.compile(r"#(EXT[A-Z0-9-]*)(?::(.*))?")
_NAME = re.compile(r"(?:[\w-][\w.-]*/)*[\w-][\w.-]*", re.ASCII)
_MAP = re.compile(r'URI="([^"]*)"')
_REFUSED = {
    "EXT-X-STREAM-INF": "it names renditions; choose the playlist of one of them",
    "EXT-X-BYTERANGE": "its segments are parts of files",
    "EXT-X-DISCONTINUITY": "its times begin anew in the middle",
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
        raise InvalidInput("this is not a playlist", why="it does not begin with #EXTM3U")
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
            raise Unavailable("the recording went on too fast", why=f"segment {following} is no longer in the playlist")
        for entry in listing.entries[following - listing.first :]:
            yield SourceSegment(_inside(playlist.parent, entry.name), start_us, entry.duration_us)
            start_us, following, grown_at = start_us + entry.duration_us, following + 1, time.monotonic()
        if listing.is_complete:
            return
        _check_patience(listing, time.monotonic() - grown_at)
        await asyncio.sleep(PAUSE_S)
        listing = await asyncio.to_thread(_read, playlist)


def _check_patience(listing: RecordingPlaylist, waited_s: float) -> None:
    if waited_s > max(LEAST_PATIENCE_S, OF_TARGET * listing.target_s):
        why = f"its playlist has not grown for {waited_s:.0f} s, and does not say that it is complete"
        raise Unavailable("the recording does not go on", why=why, hint="Ask for a range that is there already.")


def _check_tag(name: str, value: str, before: dict[str, str]) -> None:
    why = _REFUSED.get(name)
    if name == "EXT-X-KEY" and "METHOD=NONE" not in value:
        why = "its segments are encrypted"
    if name == "EXT-X-MAP" and before.get(name, value) != value:
        why = "its segments have different headers"
    if why:
        raise InvalidInput("clips cannot be made of this playlist", why=why)


def _inside(folder: Path, name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise InvalidInput("a playlist names a file elsewhere", why=f"{name[:100]!r} is not a name in its folder")
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InvalidInput("a playlist names a file elsewhere", why=f"{name[:100]!r} is a link out of its folder")
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
        raise InvalidInput("this playlist is too long", why=f"it has more than {LARGEST_PLAYLIST} bytes")
    return parse_recording(content.decode(errors="replace"))


def _number(text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d{0,9})?", text.strip(), re.ASCII):
        raise InvalidInput("this playlist has a mistake", why=f"{text[:100]!r} is not a number")
    return float(text)
