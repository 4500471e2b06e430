"""Fragments of MP4 (`moof` and `mdat` behind one header), put behind each other as if nothing had been between them.

What follows a break begins where what came before it ended, whatever its own times say; the first one begins at zero.
Invariant: only times are changed, never a size; nesting and the number of steps are bounded; what is no such fragment
is an `InvalidInput`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from touchline.kernel import InvalidInput

MOST_BOXES = 10_000  # of one file, on one level
MOST_SAMPLES = 100_000  # of one run
MICROSECOND = 1_000_000
BASE_OFFSET, DEFAULT_DURATION = 0x000001, 0x000008
SAMPLE_DESCRIPTION = 0x000002  # stands before the duration
TRUN_OFFSET, TRUN_FIRST_FLAGS, TRUN_DURATION = 0x000001, 0x000004, 0x000100
TRUN_FIELDS = (0x000100, 0x000200, 0x000400, 0x000800)  # four bytes each, of every sample


class Box(NamedTuple):
    kind: bytes
    content: int
    end: int


@dataclass(frozen=True, slots=True)
class Track:
    timescale: int
    is_video: bool
    default_duration: int  # of a sample, where its fragment does not say


@dataclass(frozen=True, slots=True)
class PlacedFragment:
    """A fragment with its new times, and when its pictures begin and end."""

    data: bytes
    start_us: int
    end_us: int


@dataclass(slots=True)
class FragmentTimeline:
    """Of fragments that need the same header."""

    header: bytes
    _tracks: Mapping[int, Track] = field(init=False)
    _shift: Fraction | None = field(default=None, init=False)
    _end: Fraction = field(default=Fraction(0), init=False)

    def __post_init__(self) -> None:
        self._tracks = read_tracks(self.header)

    def place(self, fragment: bytes, *, follows_break: bool) -> PlacedFragment:
        """The next one."""
        spans = {number: span for number, span in _spans(fragment, self._tracks).items() if span[1] > span[0]}
        if not spans:
            raise _no_fragment("it has no samples")
        if self._shift is None or follows_break:
            self._shift = self._end - min(start for start, _ in spans.values())
        shift = self._shift
        moved = _moved(fragment, self._tracks, shift)
        self._end = max(self._end, *(end + shift for _, end in spans.values()))
        pictures = next((span for number, span in spans.items() if self._tracks[number].is_video), None)
        start, end = pictures or next(iter(spans.values()))
        return PlacedFragment(moved, round((start + shift) * MICROSECOND), round((end + shift) * MICROSECOND))


def read_tracks(header: bytes) -> Mapping[int, Track]:
    """Of an init file, by their numbers."""
    movie = _only(header, Box(b"", 0, len(header)), b"moov")
    defaults = {
        _integer(header, box.content + 4): _integer(header, box.content + 12)
        for extension in _boxes(header, movie, b"mvex")
        for box in _boxes(header, extension, b"trex")
    }
    tracks: dict[int, Track] = {}
    for track in _boxes(header, movie, b"trak"):
        media = _only(header, track, b"mdia")
        known, clock = _only(header, track, b"tkhd"), _only(header, media, b"mdhd")
        number = _integer(header, known.content + (20 if header[known.content] == 1 else 12))
        timescale = _integer(header, clock.content + (20 if header[clock.content] == 1 else 12))
        handler = _only(header, media, b"hdlr")
        if timescale == 0:
            raise _no_fragment("a track has no time")
        is_video = header[handler.content + 8 : handler.content + 12] == b"vide"
        tracks[number] = Track(timescale, is_video, defaults.get(number, 0))
    if not tracks:
        raise _no_fragment("its header has no tracks")
    return tracks


def _spans(fragment: bytes, tracks: Mapping[int, Track]) -> dict[int, tuple[Fraction, Fraction]]:
    """When each track begins and ends, in seconds."""
    spans: dict[int, tuple[Fraction, Fraction]] = {}
    for track, number, times, runs in _track_fragments(fragment, tracks):
        ticks = sum(_run_ticks(fragment, run, track.default_duration) for run in runs)
        start = Fraction(_time_of(fragment, times), track.timescale)
        end = start + Fraction(ticks, track.timescale)
        first, last = spans.get(number, (start, end))
        spans[number] = (min(first, start), max(last, end))
    return spans


def _moved(fragment: bytes, tracks: Mapping[int, Track], by: Fraction) -> bytes:
    changed = bytearray(fragment)
    for track, _, times, _ in _track_fragments(fragment, tracks):
        time = _time_of(fragment, times) + round(by * track.timescale)
        long = fragment[times.content] == 1
        if not 0 <= time < (1 << (64 if long else 32)):
            raise _no_fragment("its times are not possible")
        struct.pack_into(">Q" if long else ">I", changed, times.content + 4, time)
    for box in _boxes(fragment, Box(b"", 0, len(fragment)), b"sidx"):
        changed[box.content - 4 : box.content] = b"free"  # an index by the old times
    return bytes(changed)


def _track_fragments(fragment: bytes, tracks: Mapping[int, Track]) -> Iterator[tuple[Track, int, Box, list[Box]]]:
    """Each with its number, the box of its time, and those of its samples."""
    for movie in _boxes(fragment, Box(b"", 0, len(fragment)), b"moof"):
        for part in _boxes(fragment, movie, b"traf"):
            head = _only(fragment, part, b"tfhd")
            number = _integer(fragment, head.content + 4)
            if number not in tracks:
                raise _no_fragment("it has a track that its header does not know")
            if _integer(fragment, head.content) & BASE_OFFSET:
                raise _no_fragment("its samples are named by their place in a longer file")
            track = tracks[number]
            default = _default_duration(fragment, head) or track.default_duration
            known = Track(track.timescale, track.is_video, default)
            yield known, number, _only(fragment, part, b"tfdt"), list(_boxes(fragment, part, b"trun"))


def _default_duration(data: bytes, head: Box) -> int:
    flags = _integer(data, head.content)
    if not flags & DEFAULT_DURATION:
        return 0
    return _integer(data, head.content + (12 if flags & SAMPLE_DESCRIPTION else 8))


def _run_ticks(data: bytes, run: Box, default: int) -> int:
    flags, samples = _integer(data, run.content) & 0xFFFFFF, _integer(data, run.content + 4)
    if samples > MOST_SAMPLES:
        raise _no_fragment("it has too many samples")
    if not flags & TRUN_DURATION:
        return samples * default
    place = run.content + 8 + 4 * bool(flags & TRUN_OFFSET) + 4 * bool(flags & TRUN_FIRST_FLAGS)
    size = 4 * sum(bool(flags & each) for each in TRUN_FIELDS)
    if place + samples * size > run.end:
        raise _no_fragment("it ends in the middle")
    return sum(_integer(data, place + number * size) for number in range(samples))


def _time_of(data: bytes, times: Box) -> int:
    size = 8 if data[times.content] == 1 else 4
    if times.content + 4 + size > times.end:
        raise _no_fragment("it ends in the middle")
    return int.from_bytes(data[times.content + 4 : times.content + 4 + size])


def _boxes(data: bytes, parent: Box, kind: bytes) -> Iterator[Box]:
    position = parent.content
    for _ in range(MOST_BOXES):
        if position + 8 > parent.end:
            return
        length, found = struct.unpack_from(">I4s", data, position)
        content = position + 8
        if length == 1 and position + 16 <= parent.end:
            length, content = struct.unpack_from(">Q", data, position + 8)[0], position + 16
        end = position + length
        if content > end or end > parent.end:
            raise _no_fragment("it ends in the middle")
        if found == kind:
            yield Box(found, content, end)
        position = end
    raise _no_fragment("it has too many boxes")


def _only(data: bytes, parent: Box, kind: bytes) -> Box:
    found = next(_boxes(data, parent, kind), None)
    if found is None or found.end - found.content < 8:
        raise _no_fragment(f"{kind.decode()} is missing")
    return found


def _integer(data: bytes, position: int) -> int:
    if position + 4 > len(data):
        raise _no_fragment("it ends in the middle")
    return int.from_bytes(data[position : position + 4])


def _no_fragment(why: str) -> InvalidInput:
    return InvalidInput("this is not a segment of MP4", why=why)
