"""Sound that is decoded and encoded again, to AAC in one or two channels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction

from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import OutputContainer

from .packets import AnyPacket, decode, encode
from .source import VideoSource, tick_of
from .timeline import PacketTimeline

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
