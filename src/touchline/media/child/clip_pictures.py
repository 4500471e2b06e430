"""The pictures of a clip, packet by packet: decoded and encoded at the edges, copied between them.

Invariant: times count from the first picture of the clip; decoding times rise, also across the joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from av.codec import CodecContext
from av.codec.context import Flags
from av.container import OutputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from touchline.media.rules import ClipPlan

from .encoder import LIMITED_RANGE, USUAL_RATE, colours_of
from .order import Options
from .pictures import Deinterlacer, DisplayTransform, FilterChain, upright
from .range_scan import EXTRA, MARKED, RangeScan, Syntax, joined, kind_of
from .source import AnyPacket, PacketTimeline, VideoSource, decode, encode, ready_to_decode, tick_of

# H.264 for the parts of a clip that are encoded: all of it, or the edges beside what is copied. Invariant: an edge
# has the size, the profile and the colours of what it is joined with, its own parameter sets, and no pictures out of
# order, so that its decoding times follow from its neighbour's.

PROFILES = {66: "baseline", 77: "main", 88: "main"}
QUALITY = "18"  # one cannot see the difference
FASTEST_RATE = 240
MOST_GAP_S = 5
SQUARE = Fraction(1)


def _rate(source: VideoSource) -> Fraction:
    rate = source.video.average_rate
    return rate.limit_denominator(1001) if rate and 1 <= rate <= FASTEST_RATE else USUAL_RATE


@dataclass(frozen=True, slots=True)
class ClipShape:
    """How a clip that is encoded as a whole will be seen, and how its source is stored."""

    size: tuple[int, int]
    look: DisplayTransform
    is_interlaced: bool


class EdgeEncoder:
    """One stretch of pictures that stands beside a copied one."""

    def __init__(self, source: VideoSource, set_id: int, profile: int, threads: int) -> None:
        self._encoder = _edge_encoder(source, set_id, profile, threads)
        self._source = source

    @property
    def header(self) -> bytes:
        return self._encoder.extradata or b""

    def take(self, picture: VideoFrame, shown: int) -> Iterator[AnyPacket]:
        picture.pts, picture.time_base = shown, tick_of(self._source.video)
        picture.pict_type = PictureType.NONE
        return self._units(encode(self._encoder, picture))

    def finish(self) -> Iterator[AnyPacket]:
        return self._units(encode(self._encoder, None))

    def _units(self, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        for packet in packets:
            units = [unit for unit in MARKED.split(bytes(packet)) if kind_of(unit) != EXTRA]
            yield rebuilt(packet, joined(units))


def rebuilt(packet: AnyPacket, content: bytes) -> AnyPacket:
    """The same packet with other bytes."""
    changed: AnyPacket = Packet(content)
    changed.pts, changed.dts, changed.time_base = packet.pts, packet.dts, packet.time_base
    changed.duration, changed.is_keyframe = packet.duration or 0, packet.is_keyframe
    return changed


def _edge_encoder(source: VideoSource, set_id: int, profile: int, threads: int) -> VideoCodecContext:
    stream, encoder = source.video, CodecContext.create("libx264", "w")
    original = stream.codec_context
    encoder.width, encoder.height = original.width, original.height
    encoder.pix_fmt = original.pix_fmt
    encoder.time_base, encoder.framerate = tick_of(stream), _rate(source)
    encoder.sample_aspect_ratio = original.sample_aspect_ratio or SQUARE
    encoder.color_range, encoder.colorspace = original.color_range, original.colorspace
    encoder.color_primaries, encoder.color_trc = original.color_primaries, original.color_trc
    encoder.thread_count = threads
    encoder.flags |= Flags.global_header
    encoder.options = {
        "preset": "veryfast",
        "crf": QUALITY,
        "bf": "0",
        "profile": PROFILES.get(profile, "high"),
        "x264-params": f"sps-id={set_id}:keyint=infinite:scenecut=0",
    }
    encoder.open()
    return encoder


class WholeEncoder:
    """All of the pictures, upright and with square pixels, in their size."""

    def __init__(self, source: VideoSource, output: OutputContainer, target: ClipShape, options: Options) -> None:
        self._tick = tick_of(source.video)
        self._chain = FilterChain(upright(target.size, target.look, "yuv420p"), options.threads)
        rate = _rate(source)
        settings = {"preset": "veryfast", "crf": QUALITY, "profile": "high", "g": str(max(1, round(rate * MOST_GAP_S)))}
        self._stream = output.add_stream("libx264", rate=rate, options=settings)  # pyright: ignore[reportUnknownMemberType]
        _describe(self._stream, source, target, options.threads)
        self._timeline = PacketTimeline(self._tick, rate)

    def take(self, picture: VideoFrame, shown: int) -> Iterator[AnyPacket]:
        converted = self._chain.apply(picture)
        if converted is not None:
            converted.pts, converted.time_base, converted.pict_type = shown, self._tick, PictureType.NONE
            yield from self._timed(encode(self._stream, converted))

    def finish(self) -> Iterator[AnyPacket]:
        yield from self._timed(encode(self._stream, None))
        yield from self._timeline.finish()

    def _timed(self, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        for packet in packets:
            packet.duration = 0  # the encoder's guess; the timeline knows
            yield from self._timeline.take(packet)


def _describe(stream: VideoStream, source: VideoSource, target: ClipShape, threads: int) -> None:
    context = stream.codec_context
    context.width, context.height = target.size
    context.pix_fmt = "yuv420p"
    context.time_base = tick_of(source.video)
    context.thread_count = threads
    context.color_range = LIMITED_RANGE
    if colours := colours_of(source, target.look):
        context.colorspace, context.color_primaries, context.color_trc = colours


class PictureEncoder(Protocol):
    def take(self, picture: VideoFrame, shown: int) -> Iterator[AnyPacket]: ...
    def finish(self) -> Iterator[AnyPacket]: ...


class _ReencodedStretch:
    """Hands the pictures of a stretch to an encoder, each at a time that none before it had."""

    def __init__(self, source: VideoSource, encoder: PictureEncoder, zero: int, stretch: tuple[int, int]) -> None:
        self._source, self._encoder, self._zero = source, encoder, zero
        self._next, self._end = stretch
        self._last = -1
        self.frames = 0

    def take(self, packet: AnyPacket | None) -> Iterator[AnyPacket]:
        for picture, time in self._decoded(packet):
            yield from self._show(picture, time)

    def finish(self) -> Iterator[AnyPacket]:
        yield from self.take(None)
        yield from self._encoder.finish()

    def _decoded(self, packet: AnyPacket | None) -> Iterator[tuple[VideoFrame, int]]:
        for picture in decode(self._source.video.codec_context, packet):
            if (time := self._time(picture)) is not None:
                yield picture, time

    def _show(self, picture: VideoFrame, time: int) -> Iterator[AnyPacket]:
        if self._next <= time < self._end:
            self._next = time + 1
            self.frames += 1
            yield from self._encoder.take(picture, time - self._zero)

    def _time(self, picture: VideoFrame) -> int | None:
        """Where only the order is sure, one that the decoder held back comes a tick behind the one before."""
        time = self._source.time_of(picture)
        if time is None and not self._source.keeps_times:
            time = self._last + 1
        self._last = self._last if time is None else time
        return time


class _DeinterlacedStretch(_ReencodedStretch):
    """The same of interlaced pictures, which players would show as combs: lines of the later moment are guessed."""

    def __init__(self, source: VideoSource, encoder: PictureEncoder, zero: int, stretch: tuple[int, int]) -> None:
        super().__init__(source, encoder, zero, stretch)
        self._progressive = Deinterlacer(tick_of(source.video))

    def _decoded(self, packet: AnyPacket | None) -> Iterator[tuple[VideoFrame, int]]:
        for picture, time in super()._decoded(packet):
            yield from self._progressive.take(picture, time)
        if packet is None:
            yield from self._progressive.finish()


class EncodedClip:
    def __init__(self, source: VideoSource, output: OutputContainer, scanned: RangeScan, target: ClipShape) -> None:
        found, reach = scanned.findings(), scanned.reach
        ready_to_decode(source.video, reach.bounds, reach.bounds.threads)
        encoder, stretch = WholeEncoder(source, output, target, reach.bounds), (found.first, found.end)
        kind = _DeinterlacedStretch if target.is_interlaced else _ReencodedStretch
        self._work = kind(source, encoder, found.first, stretch)

    @property
    def frames(self) -> int:
        return self._work.frames

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        return self._work.take(packet)

    def finish(self) -> Iterator[AnyPacket]:
        return self._work.finish()


class JoinedClip:
    """A head that is encoded, packets as they are, and a tail that is encoded; head and tail may be empty."""

    def __init__(self, source: VideoSource, output: OutputContainer, scanned: RangeScan, plan: ClipPlan) -> None:
        self._threads = scanned.reach.bounds.threads
        ready_to_decode(source.video, scanned.reach.bounds, self._threads)
        self._source, self._found, self._plan, self._keys = source, scanned.findings(), plan, scanned.keys
        self._syntax = Syntax.of(source.video.codec_context.extradata)
        self._sets = scanned.sets
        self._set_id = self._sets.free_id or 0
        self._profile = self._sets.profile
        self._head = self._edge(self._found.first, plan.copy_from)
        self._tail = self._edge(plan.copy_to, self._found.end)
        self._in_tail = False
        self._copied = 0
        self._target: VideoStream = output.add_stream_from_template(source.video)  # pyright: ignore[reportUnknownMemberType]
        self._target.codec_context.extradata = self._sets.configuration()

    @property
    def frames(self) -> int:
        return self._copied + sum(edge.frames for edge in (self._head, self._tail) if edge)

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        time = packet.pts
        if time is None:
            return
        if time == self._plan.copy_from and self._head:
            yield from self._dated(self._head.finish(), self._keys[0].delay)
        if time == self._plan.copy_to < self._found.end:
            self._source.video.codec_context.flush_buffers()
            self._in_tail = True
        yield from self._placed(packet, time)

    def finish(self) -> Iterator[AnyPacket]:
        if self._tail:
            yield from self._dated(self._tail.finish(), self._keys[-1].delay)

    def _placed(self, packet: AnyPacket, time: int) -> Iterator[AnyPacket]:
        if self._tail and self._in_tail:
            yield from self._dated(self._tail.take(packet), self._keys[-1].delay)
        elif self._plan.copy_from <= time < self._plan.copy_to:
            yield self._copy(packet, time)
        elif self._head and not self._copied:
            yield from self._dated(self._head.take(packet), self._keys[0].delay)

    def _copy(self, packet: AnyPacket, time: int) -> AnyPacket:
        self._copied += 1
        plain = rebuilt(packet, joined(self._syntax.split(bytes(packet))))
        plain.pts, plain.dts = time - self._found.first, (packet.dts or 0) - self._found.first
        plain.stream = self._target
        return plain

    def _dated(self, packets: Iterator[AnyPacket], delay: int) -> Iterator[AnyPacket]:
        """Decoded as long before they are shown as the copied ones beside them."""
        for packet in packets:
            shown = packet.pts or 0
            packet.dts = shown - delay
            packet.duration = self._found.end - self._found.first - shown  # counts for the last one only
            packet.stream = self._target
            yield packet

    def _edge(self, first: int, end: int) -> _ReencodedStretch | None:
        if first == end:
            return None
        edge = EdgeEncoder(self._source, self._set_id, self._profile, self._threads)
        self._sets.learn_header(edge.header)
        return _ReencodedStretch(self._source, edge, self._found.first, (first, end))
