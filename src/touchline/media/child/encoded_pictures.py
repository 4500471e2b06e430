"""Pictures that are decoded and encoded again, to H.264.

Invariant: keyframes lie on one grid of media time, whatever the rendition, so that renditions can be switched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.container import OutputContainer
from av.video.frame import PictureType, VideoFrame

from touchline.media import rules

from .order import Options
from .packets import AnyPacket, decode, encode
from .pictures import Chain, upright
from .source import Source, ready_to_decode, tick_of
from .timeline import Timeline

USUAL_RATE = Fraction(30)
FASTEST_RATE = 240
LIMITED_RANGE = 1
RGB = 0


@dataclass(frozen=True, slots=True)
class Target:
    size: tuple[int, int]
    rotation: int


class EncodedPictures:
    def __init__(self, source: Source, output: OutputContainer, target: Target, options: Options) -> None:
        self._source = source
        self._decoder = source.video.codec_context
        self._tick = tick_of(source.video)
        self._start = int(source.start / self._tick) if source.keeps_times else None
        self._segment = max(1, int(Fraction(options.segment_ms, 1000) / self._tick))
        self._last, self._next_key = -1, 0
        ready_to_decode(source.video, options, options.threads)
        self._chain = Chain(upright(target.size, target.rotation, "yuv420p"), options.threads)
        rate = _usable(source.video.average_rate)
        settings = _encoder_options(target.size, rate)
        self._encoder = output.add_stream("libx264", rate=rate, options=settings)  # pyright: ignore[reportUnknownMemberType]
        self._describe(target, options)
        self._timeline = Timeline(self._tick, rate)

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        return self._encoded(decode(self._decoder, packet))

    def finish(self) -> Iterator[AnyPacket]:
        yield from self._encoded(decode(self._decoder, None))
        yield from self._timed(encode(self._encoder, None))
        yield from self._timeline.finish()

    def _encoded(self, pictures: Iterable[VideoFrame]) -> Iterator[AnyPacket]:
        for picture in pictures:
            if (shown := self._prepared(picture)) is not None:
                yield from self._timed(encode(self._encoder, shown))

    def _timed(self, packets: Iterable[AnyPacket]) -> Iterator[AnyPacket]:
        for packet in packets:
            packet.duration = 0  # the encoder's guess; the timeline knows
            yield from self._timeline.take(packet)

    def _prepared(self, picture: VideoFrame) -> VideoFrame | None:
        """Nothing for a picture without a time, or with one that another has already had."""
        time = self._time(picture)
        if time is None or time <= self._last or (shown := self._chain.apply(picture)) is None:
            return None
        shown.pts, shown.time_base = time, self._tick
        shown.pict_type = PictureType.NONE  # the source's choice must not become the encoder's
        if time >= self._next_key:
            shown.pict_type = PictureType.I
            self._next_key = (time // self._segment + 1) * self._segment
        self._last = time
        return shown

    def _time(self, picture: VideoFrame) -> int | None:
        time = self._source.time_of(picture)
        if time is None:
            return None if self._source.keeps_times else self._last + 1
        if self._start is None:
            self._start = time  # without times of their own, pictures begin with the first and go by the tick
        return time - self._start

    def _describe(self, target: Target, options: Options) -> None:
        context, colours = self._encoder.codec_context, self._decoder
        context.width, context.height = target.size
        context.pix_fmt = "yuv420p"
        context.time_base = self._tick
        context.thread_count = options.threads
        context.color_range = LIMITED_RANGE
        if colours.colorspace != RGB:
            context.colorspace = colours.colorspace
            context.color_primaries = colours.color_primaries
            context.color_trc = colours.color_trc


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
        "x264-params": "keyint=infinite:scenecut=0",  # keyframes only where they are asked for
    }
