"""Pictures and sound that are decoded and encoded again: to H.264 for each rung of a ladder, and to AAC.

Invariant: every rung gets the same pictures at the same times with the same keyframes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame

from touchline.media import rules
from touchline.media.model import Light, Probe

from .order import Options
from .pictures import DisplayTransform, FilterChain, PictureDecoder, ShownPicture, upright
from .source import AnyPacket, PacketTimeline, VideoSource, decode, encode, mux, tick_of

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


# Sound that is decoded and encoded again, to AAC in one or two channels.

SAMPLE_RATES = (44_100, 48_000)
SAMPLE_FORMAT = "fltp"
SAMPLES_PER_PACKET = 1024
BITS_PER_CHANNEL = 80_000
MOST_CHANNELS = 2


class NewSound(ABC):
    """A track: packets of a stream in, packets of AAC out. What happens to the sound in between differs."""

    def __init__(self, stream: AudioStream, output: OutputContainer) -> None:
        self._decoder = stream.codec_context
        self._rate = stream.sample_rate if stream.sample_rate in SAMPLE_RATES else SAMPLE_RATES[-1]
        self._layout = "mono" if stream.channels == 1 else "stereo"
        self._encoder = output.add_stream("aac", rate=self._rate, layout=self._layout)  # pyright: ignore[reportUnknownMemberType]
        self._encoder.bit_rate = BITS_PER_CHANNEL * self._encoder.channels
        self._timeline = PacketTimeline(Fraction(1, self._rate), Fraction(self._rate, SAMPLES_PER_PACKET))

    @property
    def begins(self) -> Fraction:
        return self._timeline.begins

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        for sound in decode(self._decoder, packet):
            yield from self._encoded(self._converted(sound))

    def finish(self) -> Iterator[AnyPacket]:
        for sound in decode(self._decoder, None):
            yield from self._encoded(self._converted(sound))
        yield from self._encoded(self._rest())
        for packet in encode(self._encoder, None):
            yield from self._timeline.take(packet)
        yield from self._timeline.finish()

    @abstractmethod
    def _converted(self, sound: AudioFrame) -> Iterator[AudioFrame]:
        """In the encoder's format. A stream may change its channels or rate half-way."""

    @abstractmethod
    def _rest(self) -> Iterator[AudioFrame]:
        """What was held back."""

    def _encoded(self, sounds: Iterable[AudioFrame]) -> Iterator[AnyPacket]:
        for sound in sounds:
            for packet in encode(self._encoder, sound):
                yield from self._timeline.take(packet)


class EncodedSound(NewSound):
    def __init__(self, stream: AudioStream, source: VideoSource, output: OutputContainer) -> None:
        super().__init__(stream, output)
        self._start = int(source.start / tick_of(stream))
        self._shape: tuple[str, str, int] | None = None
        self._resampler = self._new_resampler()

    def _converted(self, sound: AudioFrame) -> Iterator[AudioFrame]:
        """A resampler is made for one shape."""
        shape = (sound.format.name, sound.layout.name, sound.sample_rate)
        if self._shape not in (shape, None):
            yield from self._rest()
            self._resampler = self._new_resampler()
        self._shape = shape
        if sound.pts is not None:
            sound.pts -= self._start
        yield from self._resampler.resample(sound)

    def _rest(self) -> Iterator[AudioFrame]:
        rest: list[AudioFrame | None] = [*self._resampler.resample(None)]
        yield from (sound for sound in rest if sound is not None)  # one that changes nothing hands back the nothing

    def _new_resampler(self) -> AudioResampler:
        return AudioResampler(format=SAMPLE_FORMAT, layout=self._layout, rate=self._rate)
