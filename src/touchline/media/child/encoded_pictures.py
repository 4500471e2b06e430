"""Pictures that are encoded again, to H.264: decoded once, scaled to each rung of a ladder, each into its own output.

Invariant: every rung gets the same pictures at the same times with the same keyframes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from av.container import OutputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame

from touchline.media import rules
from touchline.media.model import Light, Probe

from .order import Options
from .packets import AnyPacket, encode, mux
from .pictures import DisplayTransform, FilterChain, upright
from .shown_pictures import PictureDecoder, ShownPicture
from .source import VideoSource
from .timeline import PacketTimeline

USUAL_RATE = Fraction(30)
FASTEST_RATE = 240
LIMITED_RANGE = 1
RGB = 0
STANDARD_COLOURS = (1, 1, 1)  # matrix, primaries and transfer of BT.709


@dataclass(frozen=True, slots=True)
class RungTarget:
    size: tuple[int, int]
    output: OutputContainer


class EncodedLadder:
    """A track: packets of the source's pictures in, packets of each rendition out."""

    def __init__(self, source: VideoSource, facts: Probe, targets: Sequence[RungTarget], options: Options) -> None:
        """The largest first: the others are scaled from it, which is less work than from the source."""
        self._pictures = PictureDecoder(source, facts.video, options)
        look = DisplayTransform(facts.video.rotation, facts.video.light)
        self._upright = FilterChain(upright(targets[0].size, look, "yuv420p"), options.threads)
        style = _Style(self._pictures.tick, _usable(source.video.average_rate), colours_of(source, look))
        threads = rules.encoder_threads([target.size for target in targets], options.threads)
        pairs = zip(targets, threads, strict=True)
        self._rungs = [_Rung(target, targets[0].size, style, count) for target, count in pairs]

    def take(self, packet: AnyPacket) -> None:
        self._show(self._pictures.take(packet))

    def finish(self) -> None:
        self._show(self._pictures.finish())
        for rung in self._rungs:
            rung.finish()

    def _show(self, pictures: Iterable[ShownPicture]) -> None:
        for shown in pictures:
            if (picture := self._upright.apply(shown.picture)) is not None:
                for rung in self._rungs:
                    rung.show(picture, shown)


@dataclass(frozen=True, slots=True)
class _Style:
    """What all rungs share."""

    tick: Fraction
    rate: Fraction
    colours: tuple[int, int, int] | None


class _Rung:
    def __init__(self, target: RungTarget, largest: tuple[int, int], style: _Style, threads: int) -> None:
        self._output = target.output
        self._tick = style.tick
        width, height = target.size
        smaller = [("scale", f"{width}:{height}:flags=bicubic")]
        self._scaled = FilterChain(smaller, threads) if target.size != largest else None
        settings = _encoder_options(target.size, style.rate)
        self._encoder = target.output.add_stream("libx264", rate=style.rate, options=settings)  # pyright: ignore[reportUnknownMemberType]
        _describe(self._encoder.codec_context, target.size, style)
        self._encoder.codec_context.thread_count = threads
        self._timeline = PacketTimeline(style.tick, style.rate)

    def show(self, picture: VideoFrame, shown: ShownPicture) -> None:
        scaled = self._scaled.apply(picture) if self._scaled else picture
        if scaled is not None:
            scaled.pts, scaled.time_base = shown.time, self._tick
            # The source's choice must not become the encoder's.
            scaled.pict_type = PictureType.I if shown.is_key else PictureType.NONE
            mux(self._output, self._timed(encode(self._encoder, scaled)))

    def finish(self) -> None:
        mux(self._output, self._timed(encode(self._encoder, None)))
        mux(self._output, self._timeline.finish())

    def _timed(self, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        for packet in packets:
            packet.duration = 0  # the encoder's guess; the timeline knows
            yield from self._timeline.take(packet)


def _describe(context: VideoCodecContext, size: tuple[int, int], style: _Style) -> None:
    context.width, context.height = size
    context.pix_fmt = "yuv420p"
    context.time_base = style.tick
    context.color_range = LIMITED_RANGE
    if style.colours:
        context.colorspace, context.color_primaries, context.color_trc = style.colours


def colours_of(source: VideoSource, look: DisplayTransform) -> tuple[int, int, int] | None:
    if look.light is not Light.STANDARD:
        return STANDARD_COLOURS
    decoder = source.video.codec_context
    if decoder.colorspace == RGB:
        return None
    return decoder.colorspace, decoder.color_primaries, decoder.color_trc


def _usable(rate: Fraction | None) -> Fraction:
    return rate.limit_denominator(1001) if rate and 1 <= rate <= FASTEST_RATE else USUAL_RATE


def _encoder_options(size: tuple[int, int], rate: Fraction) -> dict[str, str]:
    peak = rules.most_bits_per_second(*size, float(rate))
    return {
        "preset": "veryfast",
        "crf": "23",
        "maxrate": str(peak),
        "bufsize": str(2 * peak),
        "profile": "high",
        "forced-idr": "1",
        # Keyframes only where they are asked for. No picture is reordered: that would shift all of them by some, which
        # players undo in different ways, and the sound lies in another file.
        "x264-params": "keyint=infinite:scenecut=0:bframes=0",
    }
