"""A video that can go into HLS straight from the tables of its own index, without a look at its packets.

The libraries are asked what they make of the same file: how its first packets are timed, and how many there are.
Invariant: where tables and libraries differ in anything, the answer is no, and packets are copied one by one.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from typing import Any, TypeAlias

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream
from numpy.typing import NDArray

from touchline.media.model import ContainerFormat, MediaFailure
from touchline.media.playlists import PlaylistSegment, media_playlist

from .boxes import Mp4Box, boxes_between
from .channel import Channel, InputRefused
from .order import Options
from .renditions import HEADER, PLAYLIST, SEGMENTS, OutputFolder
from .source import INPUT, AnyPacket, VideoSource, tick_of

# Where each sample of an MP4 track lies, how large it is and when: read from the tables of its index at once.
# Invariant: what is told was checked against the size of the file and against each other; odd tables tell nothing.

MOST_INSIDE = 1000  # boxes of one
MOST_SAMPLES = 2_000_000  # nine hours of 60 pictures a second
LONGEST_TABLE = 12 * MOST_SAMPLES + 8  # bytes: three numbers for each, whatever a box says
Numbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrackSamples:
    """Of one track, in the order in which they are decoded; times in its own ticks."""

    offsets: Numbers
    sizes: Numbers
    decoded: Numbers
    shown: Numbers
    durations: Numbers
    is_key: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.sizes)

    def cut(self, span: slice) -> TrackSamples:
        times = self.decoded[span], self.shown[span], self.durations[span]
        return TrackSamples(self.offsets[span], self.sizes[span], *times, self.is_key[span])


class _Odd(Exception):
    """Tables that do not fit together, or that nothing here understands."""


def read_samples(descriptor: int, wanted: Container[int]) -> dict[int, TrackSamples]:
    """By the number of the track; only those whose tables are plain and true."""
    found: dict[int, TrackSamples] = {}
    size = os.fstat(descriptor).st_size
    for index in _inside(descriptor, Mp4Box(b"", 0, size), b"moov"):
        for track in _inside(descriptor, index, b"trak"):
            with suppress(_Odd):
                if (number := _number(descriptor, track)) in wanted:
                    found[number] = _samples(_Tables(descriptor, track), size)
    return found


def _inside(descriptor: int, parent: Mp4Box, kind: bytes) -> Iterator[Mp4Box]:
    boxes = islice(boxes_between(descriptor, parent.content, parent.end), MOST_INSIDE)
    return (box for box in boxes if box.kind == kind)


def _number(descriptor: int, track: Mp4Box) -> int:
    header = next(_inside(descriptor, track, b"tkhd"), None)
    data = os.pread(descriptor, 24, header.content) if header else b""
    if len(data) < 24:
        raise _Odd
    return int.from_bytes(data[20:24] if data[0] == 1 else data[12:16])


class _Tables:
    """The content of a track's tables, without version and flags."""

    def __init__(self, descriptor: int, track: Mp4Box) -> None:
        self._descriptor = descriptor
        place: Mp4Box | None = track
        for kind in (b"mdia", b"minf", b"stbl"):
            place = next(_inside(descriptor, place, kind), None)
            if place is None:
                raise _Odd
        boxes = islice(boxes_between(descriptor, place.content, place.end), MOST_INSIDE)
        self._boxes = {box.kind: box for box in boxes}

    def __contains__(self, kind: bytes) -> bool:
        return kind in self._boxes

    def head(self, kind: bytes) -> int:
        """The first number."""
        return int(self._numbers(kind, ">u4", 0)[0])

    def rows(self, kind: bytes, width: int, number: str = ">u4") -> Numbers:
        """As many as it says that it has, after the first number."""
        count = self.head(kind)
        rows = self._numbers(kind, number, 4)
        if count > MOST_SAMPLES or len(rows) < count * width:
            raise _Odd
        return rows[: count * width].reshape(count, width).astype(np.int64)

    def sizes(self) -> Numbers:
        """One for all, or one for each."""
        head = self._numbers(b"stsz", ">u4", 0)
        if len(head) < 2 or head[1] > MOST_SAMPLES:
            raise _Odd
        every, count = int(head[0]), int(head[1])
        sizes = np.full(count, every) if every else head[2 : 2 + count].astype(np.int64)
        if len(sizes) != count or not count:
            raise _Odd
        return sizes

    def _numbers(self, kind: bytes, number: str, skipped: int) -> NDArray[Any]:
        box = self._boxes.get(kind)
        if box is None:
            raise _Odd
        start = box.content + 4 + skipped
        data = os.pread(self._descriptor, max(0, min(box.end - start, LONGEST_TABLE)), start)
        numbers = np.frombuffer(data[: len(data) // 4 * 4], number)
        if not len(numbers) and not skipped:
            raise _Odd
        return numbers


def _samples(tables: _Tables, file_size: int) -> TrackSamples:
    if tables.head(b"stsd") != 1:  # a change in the middle of what has to be known to decode it
        raise _Odd
    sizes = tables.sizes()
    count = len(sizes)
    durations = _repeated(tables.rows(b"stts", 2), count)
    decoded = np.cumsum(durations) - durations
    shown = decoded + _repeated(tables.rows(b"ctts", 2, ">i4"), count) if b"ctts" in tables else decoded
    offsets = _offsets(tables, sizes)
    is_inside = offsets.min() >= 0 and int((offsets + sizes).max()) <= file_size
    if not is_inside or sizes.min() <= 0 or int(sizes.sum()) > file_size:  # or the same bytes would be many samples
        raise _Odd
    return TrackSamples(offsets, sizes, decoded, shown, durations, _keys(tables, count))


def _repeated(rows: Numbers, count: int) -> Numbers:
    """Runs of equal values: how many, and which."""
    times, values = rows[:, 0], rows[:, 1]
    if len(rows) > count or times.min(initial=0) < 0 or int(times.sum()) != count:
        raise _Odd
    return np.repeat(values, times)


def _offsets(tables: _Tables, sizes: Numbers) -> Numbers:
    """Samples lie behind each other in chunks, and only of these is the place known."""
    chunks = _chunks(tables)
    runs = tables.rows(b"stsc", 3)
    firsts = runs[:, 0]
    lengths = np.diff(firsts, append=len(chunks) + 1)
    if not len(runs) or firsts[0] != 1 or lengths.min() <= 0:
        raise _Odd
    inside = np.repeat(runs[:, 1], lengths)
    if inside.min() <= 0 or int(inside.sum()) != len(sizes):
        raise _Odd
    before = np.cumsum(sizes) - sizes
    first_samples = np.cumsum(inside) - inside
    return np.repeat(chunks - before[first_samples], inside) + before


def _chunks(tables: _Tables) -> Numbers:
    if b"co64" not in tables:
        return tables.rows(b"stco", 1)[:, 0]
    halves = tables.rows(b"co64", 2)
    return (halves[:, 0] << 32) | halves[:, 1]


def _keys(tables: _Tables, count: int) -> NDArray[np.bool_]:
    """Without a table all are."""
    if b"stss" not in tables:
        return np.ones(count, np.bool_)
    keys = np.zeros(count, np.bool_)
    numbers = tables.rows(b"stss", 1)[:, 0] - 1
    keys[numbers[(numbers >= 0) & (numbers < count)]] = True
    return keys


IN_PIECES = "empty_moov+default_base_moof+skip_trailer"  # a header that promises fragments and lists no sample
LARGEST = 1 << 60  # a time on the clock of the output, before it is divided: no machine's number runs over
AnyStream = VideoStream | AudioStream


@dataclass(frozen=True, slots=True)
class FastPathTrack:
    """The samples of one stream, on the clock of the output."""

    samples: TrackSamples
    scale: int  # ticks of a second


@dataclass(frozen=True, slots=True)
class FastPath:
    header: bytes
    tracks: Sequence[FastPathTrack]  # the pictures first
    lead_s: float  # before the first moment of the source


def find_fast_path(source: VideoSource, first: Sequence[AnyPacket]) -> FastPath | None:
    """`first`: packets as the libraries read them."""
    if source.format not in (ContainerFormat.MP4, ContainerFormat.QUICKTIME):
        return None
    tables = read_samples(INPUT, {stream.id for stream in source.tracks})
    checked = [_checked(stream, tables.get(stream.id), first) for stream in source.tracks]
    known = [samples for samples in checked if samples]
    if len(known) < len(checked):
        return None
    begins = min(int(each.decoded[0]) * tick_of(stream) for each, stream in zip(known, source.tracks, strict=True))
    header, scales = _header(source.tracks)
    if any(scale * int(samples.decoded[-1]) >= LARGEST for samples, scale in zip(known, scales, strict=True)):
        return None
    tracks = [
        FastPathTrack(_timed(samples, tick_of(stream), begins, scale), scale)
        for samples, stream, scale in zip(known, source.tracks, scales, strict=True)
    ]
    is_plain = _begins_with_keys(known[0]) and all(_is_in_order(each.samples) for each in tracks)
    return FastPath(header, tracks, float(max(source.start - begins, 0))) if is_plain else None


def _checked(stream: AnyStream, samples: TrackSamples | None, first: Sequence[AnyPacket]) -> TrackSamples | None:
    """On the libraries' clock, if theirs and the tables' differ by one shift. They drop what an edit list drops."""
    seen = [packet for packet in first if packet.stream_index == stream.index and packet.size]
    entries = stream.index_entries
    if samples is None or not seen or seen[0].dts is None or len(entries) != len(samples):
        return None
    shift = seen[0].dts - int(samples.decoded[0])
    moved = replace(samples, decoded=samples.decoded + shift, shown=samples.shown + shift)
    columns = moved.offsets, moved.sizes, moved.decoded, moved.shown
    rows = np.stack([column[: len(seen)] for column in columns], axis=1).tolist()
    last = entries[len(entries) - 1]
    if rows != [[packet.pos, packet.size, packet.dts, packet.pts] for packet in seen]:
        return None
    is_same_end = [int(column[-1]) for column in columns[:3]] == [last.pos, last.size, last.timestamp]
    return moved if is_same_end else None


def _header(streams: Sequence[AnyStream]) -> tuple[bytes, list[int]]:
    """What each fragment is to be read with, and the clocks that it says they have."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", container_options={"movflags": IN_PIECES}) as output:
        like = [_like(output, stream) for stream in streams]
        output.start_encoding()
        return buffer.getvalue(), [int(1 / tick_of(stream)) for stream in like]


def _like(output: OutputContainer, stream: AnyStream) -> AnyStream:
    return output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]


def _timed(samples: TrackSamples, tick: Fraction, begins: Fraction, scale: int) -> TrackSamples:
    """From zero on, in the ticks of the output."""
    factor, zero = tick * scale, round(begins * scale)

    def ticks(times: Numbers) -> Numbers:
        return (2 * times * factor.numerator + factor.denominator) // (2 * factor.denominator) - zero

    decoded = ticks(samples.decoded)
    ends = ticks(samples.decoded[-1:] + samples.durations[-1:])
    durations = np.diff(decoded, append=ends)
    return replace(samples, decoded=decoded, shown=ticks(samples.shown), durations=durations)


def _begins_with_keys(pictures: TrackSamples) -> bool:
    """Segments do: the first picture is one, and each is shown after those before it."""
    shown = pictures.shown[pictures.is_key]
    return bool(pictures.is_key[0]) and bool((np.diff(shown) > 0).all())


def _is_in_order(samples: TrackSamples) -> bool:
    """A last one without a duration is left to those who count it."""
    return bool((samples.durations > 0).all() and (samples.shown >= samples.decoded).all())


# Fragments of MP4 (ISO 14496-12): boxes that say what lies in the `mdat` behind them, for pictures and sound.

TYPE = struct.pack(">I4s4sI4s4s", 24, b"styp", b"msdh", 0, b"msdh", b"msix")
FROM_THE_FRAGMENT = 0x020000  # is where places are counted
PLACE, DELAYS = 0x001, 0x800
# Duration, size and flags: as a flag of the table where they differ, of the header where all are the same.
COLUMNS = ((0x100, 0x08), (0x200, 0x10), (0x400, 0x20))
LONG_TIME = 0x01000000  # the version with 64 bits
KEY, OTHER = 0x02000000, 0x01010000  # needs no other picture; needs others, and nothing can begin with it
MOST_BYTES = 0x7FFFFFFF
HEAD = 8  # of a box


def fragment(number: int, parts: Sequence[tuple[int, TrackSamples]]) -> bytes:
    """All but the samples, which follow part by part; each part with the number of its track."""
    lengths = [int(samples.sizes.sum()) for _, samples in parts]
    if sum(lengths) > MOST_BYTES // 2:
        raise InputRefused(MediaFailure.LIMIT, "a section between two keyframes is too large")
    content = _box(b"mfhd", struct.pack(">II", 0, number))
    before = 2 * HEAD + len(content) + sum(len(_part(*part, 0)) for part in parts)
    for index, part in enumerate(parts):
        content += _part(*part, before + sum(lengths[:index]))
    return TYPE + _box(b"moof", content) + struct.pack(">I4s", HEAD + sum(lengths), b"mdat")


def _part(track: int, samples: TrackSamples, place: int) -> bytes:
    columns = samples.durations, samples.sizes, np.where(samples.is_key, KEY, OTHER)
    delays = samples.shown - samples.decoded
    header, table, same, own = FROM_THE_FRAGMENT, PLACE, b"", list[Numbers]()
    for (varies, default), column in zip(COLUMNS, columns, strict=True):
        if (column == column[0]).all():
            header, same = header | default, same + struct.pack(">I", int(column[0]))
        else:
            table, own = table | varies, [*own, column]
    if delays.any():
        table, own = table | DELAYS, [*own, delays]
    rows = np.stack(own, axis=1).astype(">u4").tobytes() if own else b""
    return _box(
        b"traf",
        _box(b"tfhd", struct.pack(">II", header, track), same),
        _box(b"tfdt", struct.pack(">IQ", LONG_TIME, int(samples.decoded[0]))),
        _box(b"trun", struct.pack(">III", table, len(samples), place), rows),
    )


def _box(kind: bytes, *content: bytes) -> bytes:
    return struct.pack(">I4s", HEAD + sum(map(len, content)), kind) + b"".join(content)


# The samples of a file are moved into the segments of HLS, run by run, as they lie in it. Invariant: every segment
# begins with a keyframe; what waits to be written is bounded.

AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class SegmentSamples:
    """What goes into one segment: of each track that has something then, with its number."""

    duration_s: float
    parts: Sequence[tuple[int, TrackSamples]]


def write_fast_path(found: FastPath, folder: OutputFolder, channel: Channel, options: Options) -> None:
    cuts = list(_cuts(found.tracks, options.segment_ms))
    segments = [PlaylistSegment(SEGMENTS % number, cut.duration_s) for number, cut in enumerate(cuts)]
    _write(folder, HEADER, [found.header])
    for number, (segment, cut) in enumerate(zip(segments, cuts, strict=True), 1):
        _write(folder, segment.name, _content(number, cut))
        channel.progress(number / len(cuts))
    _write(folder, PLAYLIST, [media_playlist(HEADER, segments).encode()])


def _cuts(tracks: Sequence[FastPathTrack], segment_ms: int) -> Iterator[SegmentSamples]:
    pictures, scale = tracks[0].samples, tracks[0].scale
    starts = _starts(pictures, segment_ms * scale)
    times = [int(pictures.shown[start]) / scale for start in starts]
    ends = [*times[1:], int((pictures.shown + pictures.durations).max()) / scale]
    edges = [[*starts, len(pictures)], *(_edges(track, times) for track in tracks[1:])]
    for number, (begin, end) in enumerate(zip(times, ends, strict=True)):
        spans = [slice(each[number], each[number + 1]) for each in edges]
        parts = [track.samples.cut(span) for track, span in zip(tracks, spans, strict=True)]
        yield SegmentSamples(end - begin, [(track, part) for track, part in enumerate(parts, 1) if len(part)])


def _starts(pictures: TrackSamples, step: int) -> list[int]:
    """The first keyframe after each multiple of the wanted length."""
    starts = [0]
    for key in np.flatnonzero(pictures.is_key).tolist():
        if (int(pictures.shown[key]) - int(pictures.shown[0])) * 1000 >= step * len(starts):
            starts.append(key)
    return starts


def _edges(track: FastPathTrack, times: Sequence[float]) -> list[int]:
    """Sound goes with the pictures during which it is heard; what comes before the first, with the first."""
    places = np.searchsorted(track.samples.decoded, [round(time * track.scale) for time in times[1:]])
    return [0, *places.tolist(), len(track.samples)]


def _write(folder: OutputFolder, name: str, content: Iterable[bytes]) -> None:
    part = folder.open(folder.path(name), 0, {})
    for data in content:
        part.write(data)
    part.close()


def _content(number: int, cut: SegmentSamples) -> Iterator[bytes]:
    gathered, size = [fragment(number, cut.parts)], 0
    for _, samples in cut.parts:
        for data in _runs(samples.offsets, samples.sizes):
            gathered.append(data)
            size += len(data)
            if size >= AT_ONCE:
                yield b"".join(gathered)
                gathered, size = [], 0
    yield b"".join(gathered)


def _runs(offsets: Numbers, sizes: Numbers) -> Iterator[bytes]:
    """Samples that lie behind each other are read together, but never much at once."""
    breaks = np.flatnonzero(offsets[1:] != offsets[:-1] + sizes[:-1]) + 1
    starts = offsets[np.concatenate([[0], breaks])].tolist()
    lengths = np.add.reduceat(sizes, np.concatenate([[0], breaks])).tolist()
    for start, length in zip(starts, lengths, strict=True):
        for position in range(start, start + length, AT_ONCE):
            yield _read(position, min(AT_ONCE, start + length - position))


def _read(position: int, length: int) -> bytes:
    data = os.pread(INPUT, length, position)
    if len(data) < length:
        raise InputRefused(MediaFailure.TRUNCATED, "it became shorter while it was read")
    return data
