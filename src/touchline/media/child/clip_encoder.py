"""H.264 for the parts of a clip that are encoded: all of it, or the edges beside what is copied.

Invariant: an edge has the size, the profile and the colours of what it is joined with, its own parameter sets, and no
pictures out of order, so that its decoding times follow from its neighbour's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.codec import CodecContext
from av.codec.context import Flags
from av.container import OutputContainer
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame
from av.video.stream import VideoStream

from .encoded_pictures import LIMITED_RANGE, USUAL_RATE, colours_of
from .order import Options
from .packets import AnyPacket, encode
from .pictures import DisplayTransform, FilterChain, upright
from .source import VideoSource, tick_of
from .timeline import PacketTimeline
from .units import EXTRA, MARKED, joined, kind_of

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
