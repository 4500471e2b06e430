"""Reading the packets of a range once, without decoding: what is in it, and whether it can be copied.

Invariant: what is remembered does not grow with the range.

The units that H.264 is made of, as far as cutting needs them: where decoding may begin, and the parameter sets.

Invariant: one id, one content. A stream that changes a parameter set half-way is not copied.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice

from av.error import FFmpegError

from touchline.media import rules
from touchline.media.model import ContainerFormat, MediaFailure

from .channel import InputRefused
from .order import Options
from .source import AnyPacket, VideoSource, open_source, tick_of

IDR, EXTRA, SEQUENCE, PICTURE, DELIMITER = 5, 6, 7, 8, 9
SETS = (SEQUENCE, PICTURE)
MOST_IDS = 31  # as many as a header can list, ours included
SHORTEST = {SEQUENCE: 5, PICTURE: 2}
HIGH_PROFILES = (100, 110, 122, 144)
CHROMA_420_8_BIT = bytes([0xFD, 0xF8, 0xF8, 0])
CONFIGURATION = 1  # its first byte
ESCAPED, PLAIN = b"\0\0\3", b"\0\0"
HEAD = 32


class ChangedSets(Exception):
    """The same id stands for something else than before, or for nothing."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """How units are told apart: by their length in so many bytes, or by start codes."""

    length_bytes: int | None

    @classmethod
    def of(cls, extradata: bytes | None) -> Syntax:
        boxed = extradata and extradata[0] == CONFIGURATION and len(extradata) > 4
        return cls((extradata[4] & 3) + 1 if boxed and extradata else None)

    def split(self, data: bytes) -> list[bytes]:
        return [unit for unit in (self._sized(data) if self.length_bytes else _marked(data)) if unit]

    def _sized(self, data: bytes) -> Iterator[bytes]:
        position, width = 0, self.length_bytes or 4
        while position + width <= len(data):
            length = int.from_bytes(data[position : position + width])
            yield data[position + width : position + width + length]
            position += width + length


MARKED = Syntax(None)


def _marked(data: bytes) -> Iterator[bytes]:
    return (unit.rstrip(b"\0") for unit in data.split(b"\0\0\1")[1:])


def kind_of(unit: bytes) -> int:
    return unit[0] & 31


def is_idr(units: Iterable[bytes]) -> bool:
    return any(kind_of(unit) == IDR for unit in units)


def joined(units: Iterable[bytes]) -> bytes:
    """As MP4 keeps them: with their length in four bytes, without what stands in its header."""
    kept = (unit for unit in units if kind_of(unit) not in (*SETS, DELIMITER))
    return b"".join(struct.pack(">I", len(unit)) + unit for unit in kept)


class ParameterSets:
    def __init__(self) -> None:
        self._sets: dict[tuple[int, int], bytes] = {}

    def learn(self, units: Iterable[bytes]) -> None:
        for unit in units:
            if (kind := kind_of(unit)) in SETS:
                key = kind, _id_of(unit, 4 if kind == SEQUENCE else 1)
                if len(unit) < SHORTEST[kind] or self._sets.setdefault(key, unit) != unit:
                    raise ChangedSets

    def learn_header(self, extradata: bytes) -> None:
        self.learn(_configured(extradata) if extradata[:1] == bytes([CONFIGURATION]) else MARKED.split(extradata))

    @property
    def free_id(self) -> int | None:
        used = {number for _, number in self._sets}
        return next((number for number in range(MOST_IDS) if number not in used), None)

    @property
    def profile(self) -> int:
        return max((unit[1] for unit in self._of(SEQUENCE)), default=0)

    def configuration(self) -> bytes:
        """The box `avcC`: what decoders are set up with."""
        sequences, pictures = self._of(SEQUENCE), self._of(PICTURE)
        compatible = 0xFF
        for unit in sequences:
            compatible &= unit[2]
        level = max(unit[3] for unit in sequences)
        head = bytes([CONFIGURATION, self.profile, compatible, level, 0xFF, 0xE0 | len(sequences)])
        tail = CHROMA_420_8_BIT if self.profile in HIGH_PROFILES else b""
        return head + _listed(sequences) + bytes([len(pictures)]) + _listed(pictures) + tail

    def _of(self, wanted: int) -> list[bytes]:
        return [unit for (kind, _), unit in self._sets.items() if kind == wanted]


def _listed(units: Iterable[bytes]) -> bytes:
    return b"".join(struct.pack(">H", len(unit)) + unit for unit in units)


def _configured(extradata: bytes) -> Iterator[bytes]:
    """The sets in an `avcC`: a list of sequences, then one of pictures."""
    position = 5
    for mask in (31, 255):
        for _ in range(extradata[position] & mask if position < len(extradata) else 0):
            length = int.from_bytes(extradata[position + 1 : position + 3])
            if unit := extradata[position + 3 : position + 3 + length]:  # one may have no length, or lie behind the end
                yield unit
            position += 2 + length
        position += 1


def _id_of(unit: bytes, skipped: int) -> int:
    """A number in Exp-Golomb code: as many bits behind the first one as there are zeros before it."""
    payload = unit[:HEAD].replace(ESCAPED, PLAIN)[skipped:]
    bits = "".join(f"{byte:08b}" for byte in payload)
    zeros = len(bits) - len(bits.lstrip("0"))
    return int(bits[zeros : 2 * zeros + 1] or "1", 2) - 1


# The part of a source that a clip needs: where to begin to read, and which of the pictures are in the range.
# Invariant: reading begins at a picture from which all of the range can be decoded, or at the very beginning.

MARGINS_S = (1, 10, 60)  # before the start: sound may lie in front of its pictures
MOST_PACKETS = 500
MICROSECOND = Fraction(1, 1_000_000)


@dataclass(frozen=True, slots=True)
class ReadRange:
    """In ticks of the pictures, as the source counts them."""

    kind: ContainerFormat
    bounds: Options
    tick: Fraction
    zero: int  # media time zero
    start: int
    end: int
    entry: int | None  # where to begin; none is the very beginning

    @contextmanager
    def opened(self) -> Generator[VideoSource]:
        with open_source(self.kind, self.bounds) as source:
            if self.entry is not None:
                source.container.seek(self.entry, stream=source.video)
            yield source

    def media_ms(self, time: int) -> int:
        return round((time - self.zero) * self.tick * 1000)


def find_read_range(kind: ContainerFormat, bounds: Options, wanted: rules.ClipOptions) -> ReadRange:
    with open_source(kind, bounds) as source:
        tick = tick_of(source.video)
        zero = _zero(source, wanted.first_picture_us)
        start = zero + rules.first_tick(wanted.start_ms, tick)
        end = zero + rules.first_tick(wanted.end_ms, tick)
        return ReadRange(kind, bounds, tick, zero, start, end, _entry(source, start) if source.keeps_times else None)


def time_of(packet: AnyPacket, source: VideoSource) -> int | None:
    return packet.pts if source.keeps_times else packet.dts


def _zero(source: VideoSource, first_picture_us: int | None) -> int:
    tick = tick_of(source.video)
    if first_picture_us is None and source.keeps_times:
        return int(source.start / tick)
    first = next(_video_packets(source), None)
    shown = time_of(first, source) if first else None
    return (shown or 0) - round((first_picture_us or 0) * MICROSECOND / tick)


def _entry(source: VideoSource, start: int) -> int | None:
    """Not every container finds what it is asked for: what it finds is looked at."""
    for margin in MARGINS_S:
        place = start - int(margin / tick_of(source.video))
        try:
            source.container.seek(place, stream=source.video)
            packets = islice(_video_packets(source), MOST_PACKETS)
            key = next((packet for packet in packets if packet.is_keyframe), None)
        except FFmpegError:
            return None
        if key and key.pts is not None and key.pts <= start:
            return place
    return None


def _video_packets(source: VideoSource) -> Iterator[AnyPacket]:
    return (packet for packet in source.container.demux(source.video) if packet.size)


PROGRESSIVE = (0, 1)  # as the library numbers them: unknown, and so


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A picture from which decoding can begin, and how long before it is shown it is decoded."""

    time: int
    delay: int


@dataclass(slots=True)
class RangeScan:
    reach: ReadRange
    first: int | None = None
    last_end: int = 0
    following: int | None = None  # the first picture behind the range
    following_key: int | None = None
    frames: int = 0
    keys: list[Keyframe] = field(default_factory=list["Keyframe"])  # the first and the last
    is_copyable: bool = True
    sets: ParameterSets = field(default_factory=ParameterSets)

    def findings(self) -> rules.RangeFindings:
        if self.first is None:
            raise InputRefused(MediaFailure.RANGE, "no frame starts in this range")
        end = self.last_end if self.following is None else self.following
        return rules.RangeFindings(
            first=self.first,
            end=end,
            frames=self.frames,
            first_key=self.keys[0].time if self.keys else None,
            last_key=self.keys[-1].time if self.keys else None,
            ends_at_key=self.following == self.following_key,
        )

    def note(self, time: int, packet: AnyPacket, *, is_key: bool) -> None:
        if time >= self.reach.end:
            self._note_following(time, is_key=is_key)
        elif time >= self.reach.start:
            self.frames += 1
            self.first = time if self.first is None else min(self.first, time)
            self.last_end = max(self.last_end, time + max(1, packet.duration or 0))
            if is_key:
                self.keys = [*self.keys[:1], Keyframe(time, time - (packet.dts or 0))]

    def _note_following(self, time: int, *, is_key: bool) -> None:
        self.following = time if self.following is None else min(self.following, time)
        if is_key and self.following_key is None:
            self.following_key = time


def scan_range(reach: ReadRange, *, may_copy: bool) -> RangeScan:
    found = RangeScan(reach, is_copyable=may_copy)
    with reach.opened() as source:
        syntax = _prepared(found, source)
        for packet in _until(source, found):
            time, is_dated = time_of(packet, source), packet.dts is not None
            if time is not None:
                found.note(time, packet, is_key=_look_into(packet, found, syntax) and is_dated)
            if found.keys and (time is None or not is_dated):
                found.is_copyable = False
    return found


def _prepared(found: RangeScan, source: VideoSource) -> Syntax:
    extradata = source.video.codec_context.extradata
    found.is_copyable = found.is_copyable and source.video.codec_context.field_order in PROGRESSIVE
    if found.is_copyable and extradata:
        try:
            found.sets.learn_header(extradata)
        except ChangedSets:
            found.is_copyable = False
    return Syntax.of(extradata)


def _until(source: VideoSource, found: RangeScan) -> Iterator[AnyPacket]:
    """No picture that is decoded later is shown before its decoding."""
    for packet in source.container.demux(source.video):
        if packet.size:
            yield packet
            if found.following is not None and packet.dts is not None and packet.dts >= found.following:
                return


def _look_into(packet: AnyPacket, found: RangeScan, syntax: Syntax) -> bool:
    if not found.is_copyable:
        return packet.is_keyframe
    units = syntax.split(bytes(packet))
    try:
        found.sets.learn(units)
    except ChangedSets:
        found.is_copyable = False
    return packet.is_keyframe and is_idr(units)
