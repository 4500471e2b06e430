"""One connection: pictures and sound of the programme, coded as H.264 and AAC, as fast as the match goes.

Invariant: a picture that comes too late is left out, so that the stream stays with the clock; times always rise.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from fractions import Fraction

import av
import av.logging
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream

from touchline.media.child.packets import encode, mux
from touchline.platform.children import pipe_into
from touchline.world.videos.drawing.shown import RATE
from touchline.world.videos.mp4 import PIECE, audio_frame, video_frame
from touchline.world.videos.sound import SOUND_HZ

from .model import Options, Protocol, Sent, Target
from .programme import Programme

KEYFRAME_EVERY = 2 * RATE
TELL_EVERY = RATE


def publish(target: Target, options: Options, from_ms: int, tell: Callable[[Sent], None]) -> Sent:
    """Until the length is over or the connection breaks, which is an error."""
    av.logging.set_level(av.logging.PANIC)  # the libraries would write the key
    size = round(options.height * 16 / 9 / 2) * 2, options.height
    programme = Programme(options.seed, size)
    programme.picture(from_ms)  # all that takes long is drawn before the clock runs
    with _opened(target) as output:
        stream = _Stream(output, size, options.kilobits)
        sent = Sent(from_ms, 0)
        for number in _paced(options, from_ms):
            sent = Sent(from_ms + number * 1000 // RATE, sent.pictures + 1)
            stream.send(programme, from_ms, number)
            if sent.pictures % TELL_EVERY == 1:
                tell(sent)
        stream.end()
    return sent


def _paced(options: Options, from_ms: int) -> Iterator[int]:
    """Numbers of pictures, each when its time has come."""
    begun, number = time.monotonic(), 0
    while options.length_ms is None or from_ms + number * 1000 // RATE < options.length_ms:
        due = begun + number / RATE / options.speed
        time.sleep(max(0.0, due - time.monotonic()))
        yield number
        late = int((time.monotonic() - begun) * RATE * options.speed)
        number = max(number + 1, late)


@contextmanager
def _opened(target: Target) -> Generator[OutputContainer]:
    if target.protocol is not Protocol.SRT:
        with av.open(target.url, "w", format="flv") as output:
            yield output
        return
    options = {"live": "1", "flush_packets": "1"}
    with (
        pipe_into(_relay(target)) as eater,
        av.open(eater, "w", format="matroska", container_options=options) as output,
    ):
        yield output


def _relay(target: Target) -> list[str]:
    """PyAV is built without SRT; the program has it. It gets Matroska: its reader of MPEG-TS crashes in this build."""
    from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

    quiet = ("-nostdin", "-hide_banner", "-loglevel", "quiet")
    read = ("-fflags", "nobuffer", "-probesize", "32", "-analyzeduration", "0", "-f", "matroska", "-i", "pipe:0")
    return [get_ffmpeg_exe(), *quiet, *read, "-c", "copy", "-f", "mpegts", target.url]


class _Stream:
    def __init__(self, output: OutputContainer, size: tuple[int, int], kilobits: int) -> None:
        self._output = output
        self._pictures = _picture_stream(output, size, kilobits)
        self._sound = _sound_stream(output)
        self._heard = 0

    def send(self, programme: Programme, from_ms: int, number: int) -> None:
        picture = programme.picture(from_ms + number * 1000 // RATE)
        mux(self._output, encode(self._pictures, video_frame(picture, number)))
        first = from_ms * SOUND_HZ // 1000
        while self._heard * RATE <= number * SOUND_HZ:
            frame = audio_frame(programme.sound(first + self._heard, PIECE), 0)
            frame.pts = self._heard
            mux(self._output, encode(self._sound, frame))
            self._heard += PIECE

    def end(self) -> None:
        mux(self._output, encode(self._pictures, None))
        mux(self._output, encode(self._sound, None))


def _picture_stream(output: OutputContainer, size: tuple[int, int], kilobits: int) -> VideoStream:
    rate = f"{kilobits}k"
    options = {"preset": "veryfast", "tune": "zerolatency", "g": str(KEYFRAME_EVERY), "keyint_min": str(KEYFRAME_EVERY)}
    options |= {"sc_threshold": "0", "b": rate, "maxrate": rate, "bufsize": f"{2 * kilobits}k"}
    stream = output.add_stream("libx264", rate=RATE, options=options)  # pyright: ignore[reportUnknownMemberType]
    stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
    stream.codec_context.time_base = Fraction(1, RATE)
    return stream


def _sound_stream(output: OutputContainer) -> AudioStream:
    stream = output.add_stream("aac", rate=SOUND_HZ, layout="stereo")  # pyright: ignore[reportUnknownMemberType]
    stream.bit_rate = 128_000
    return stream
