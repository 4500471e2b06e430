"""One connection: pictures and sound of an endless match, encoded as H.264 and AAC, at the pace of the match.

Invariant: a seed shows the same at the same moment. A picture that is late is dropped, so that the stream keeps up
with the clock; timestamps always rise.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from typing import Any

import av
import av.logging
import numpy as np
from av.audio.stream import AudioStream
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.random import default_rng

from touchline.media.child.source import encode, mux
from touchline_world.child_process import pipe_into
from touchline_world.videos.drawing.football import Broadcast
from touchline_world.videos.drawing.paint import RATE, Pixels
from touchline_world.videos.model import BugStyle, Colour, Look, Side, Take, TakeKind
from touchline_world.videos.renderer import PIECE, audio_frame, video_frame
from touchline_world.videos.sound import SOUND_HZ, Sound, sound_of

from .model import EncoderOptions, Protocol, StreamProgress, StreamTarget

TAKE_MS = 12_000
GOAL_EVERY = 5  # takes
KITS: tuple[tuple[Colour, Colour], ...] = (
    ((200, 30, 40), (240, 240, 240)),
    ((40, 90, 200), (30, 40, 90)),
    ((245, 245, 245), (20, 20, 20)),
    ((250, 200, 30), (20, 60, 150)),
)
CLUBS = (("Harbour Rovers", "HAR"), ("Valle Azul", "VAZ"), ("Nordby", "NOR"), ("Union Lindau", "LIN"))


class EndlessMatch:
    def __init__(self, seed: int, size: tuple[int, int]) -> None:
        self._seed, self._size, self._look = seed, size, _look(seed)
        self._ahead = ThreadPoolExecutor(max_workers=1)
        self._soon = lru_cache(maxsize=2)(self._begun)

    def picture(self, at_ms: int) -> Pixels:
        number, inside = divmod(at_ms, TAKE_MS)
        broadcast, _ = self._soon(number).result()
        if inside > TAKE_MS // 3:
            self._soon(number + 1)  # is ready when it is on: nobody waits for it in the middle of a stream
        return broadcast.picture(inside)[0]

    def sound(self, first: int, count: int) -> Sound:
        """So many samples of both channels."""
        each = TAKE_MS * SOUND_HZ // 1000
        number, inside = divmod(first, each)
        part = self._soon(number).result()[1][:, inside : inside + count]
        if part.shape[1] == count:
            return part
        after = self._soon(number + 1).result()[1]
        return np.concatenate([part, after[:, : count - part.shape[1]]], axis=1)

    def take(self, number: int) -> Take:
        """Which attack this is, and how it stands by then."""
        before, after = self._score(number), self._score(number + 1)
        random = default_rng([self._seed, number, 121])
        is_goal = before != after
        by_home = after[0] > before[0] if is_goal else bool(random.random() < 0.5)
        return Take(
            TakeKind.GOAL if is_goal else TakeKind.PLAY,
            int(random.integers(1 << 31)),
            TAKE_MS,
            self._look,
            clock_ms=number * TAKE_MS,
            goal_ms=5_000 if is_goal else None,
            score_before=before,
            score_after=after,
            by_home=by_home,
            hashtag=f"#{self._look.home.code}{self._look.away.code}",
            has_replay=is_goal,
        )

    def _score(self, number: int) -> tuple[int, int]:
        scorers = [default_rng([self._seed, each, 122]).random() < 0.5 for each in range(number // GOAL_EVERY)]
        return sum(scorers), len(scorers) - sum(scorers)

    def _begun(self, number: int) -> Future[tuple[Broadcast, Sound]]:
        return self._ahead.submit(self._prepared, self.take(number))

    def _prepared(self, take: Take) -> tuple[Broadcast, Sound]:
        return Broadcast(take, self._size), sound_of(take)


def _look(seed: int) -> Look:
    random = default_rng([seed, 123])
    kits, clubs = random.permutation(len(KITS)), random.permutation(len(CLUBS))
    home, away = (Side(*CLUBS[int(clubs[each])], *KITS[int(kits[each])]) for each in range(2))
    return Look(home, away, list(BugStyle)[int(random.integers(0, 3))], int(random.integers(1 << 31)))


KEYFRAME_EVERY = 2 * RATE
REPORT_EVERY = RATE


def publish(
    target: StreamTarget, options: EncoderOptions, from_ms: int, report: Callable[[StreamProgress], None]
) -> StreamProgress:
    """Until the length is over or the connection breaks, which is an error."""
    av.logging.set_level(av.logging.PANIC)  # the libraries would write the key
    size = round(options.height * 16 / 9 / 2) * 2, options.height
    if options.loop_ms is not None:
        drawn = _drawn(options, size, options.loop_ms)
        with _opened(target) as output, av.open(BytesIO(drawn), "r") as source:
            return _Loop(source, output).send(options, from_ms, report)
    programme = EndlessMatch(options.seed, size)
    programme.picture(from_ms)  # all that takes long is drawn before the clock runs
    with _opened(target) as output:
        stream = _Stream(output, size, options.kilobits)
        sent = StreamProgress(from_ms, 0)
        for number in _frame_numbers(options, from_ms):
            sent = StreamProgress(from_ms + number * 1000 // RATE, sent.pictures + 1)
            stream.send(programme, from_ms, number)
            if sent.pictures % REPORT_EVERY == 1:
                report(sent)
        stream.end()
    return sent


def _drawn(options: EncoderOptions, size: tuple[int, int], length_ms: int) -> bytes:
    """The beginning of the match, encoded."""
    programme, file = EndlessMatch(options.seed, size), BytesIO()
    with av.open(file, "w", format="matroska") as output:
        stream = _Stream(output, size, options.kilobits)
        for number in range(max(1, length_ms * RATE // 1000)):
            stream.send(programme, 0, number)
        stream.end()
    return file.getvalue()


class _Loop:
    """Sends what was drawn again and again: nothing is drawn or encoded meanwhile. Timestamps rise all the same."""

    def __init__(self, source: InputContainer, output: OutputContainer) -> None:
        self._source, self._output = source, output
        add = output.add_stream_from_template  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        self._streams = {each.index: add(each) for each in source.streams}

    def send(self, options: EncoderOptions, from_ms: int, report: Callable[[StreamProgress], None]) -> StreamProgress:
        begun, sent = time.monotonic(), StreamProgress(from_ms, 0)
        for packet, at_ms in self._packets():
            if options.length_ms is not None and from_ms + at_ms >= options.length_ms:
                break
            time.sleep(max(0.0, begun + at_ms / 1000 / options.speed - time.monotonic()))
            mux(self._output, [packet])
            if packet.stream.type == "video":
                sent = StreamProgress(from_ms + at_ms, sent.pictures + 1)
                if sent.pictures % REPORT_EVERY == 1:
                    report(sent)
        return sent

    def _packets(self) -> Iterator[tuple[Packet[Any], int]]:
        """Each with the time at which it is due."""
        begins_ms = ends_ms = 0
        while True:
            for packet in self._source.demux():
                if packet.dts is None or packet.pts is None:
                    continue  # the end of the file
                tick_ms = packet.time_base * 1000
                shift = round(begins_ms / tick_ms)
                packet.dts, packet.pts = packet.dts + shift, packet.pts + shift
                at_ms = int(packet.dts * tick_ms)
                ends_ms = max(ends_ms, at_ms + max(1, int((packet.duration or 0) * tick_ms)))
                packet.stream = self._streams[packet.stream.index]
                yield packet, at_ms
            begins_ms = ends_ms
            self._source.seek(0)


def _frame_numbers(options: EncoderOptions, from_ms: int) -> Iterator[int]:
    """Numbers of pictures, each when its time has come."""
    begun, number = time.monotonic(), 0
    while options.length_ms is None or from_ms + number * 1000 // RATE < options.length_ms:
        due = begun + number / RATE / options.speed
        time.sleep(max(0.0, due - time.monotonic()))
        yield number
        late = int((time.monotonic() - begun) * RATE * options.speed)
        number = max(number + 1, late)


@contextmanager
def _opened(target: StreamTarget) -> Generator[OutputContainer]:
    if target.protocol is not Protocol.SRT:
        with av.open(target.url, "w", format="flv") as output:
            yield output
        return
    options = {"live": "1", "flush_packets": "1"}
    with (
        _secrets(target) as secrets,
        pipe_into(_relay(target, secrets), [secrets]) as eater,
        av.open(eater, "w", format="matroska", container_options=options) as output,
    ):
        yield output


@contextmanager
def _secrets(target: StreamTarget) -> Generator[int]:
    """A descriptor from which the program reads them, as a file of options."""
    with os.fdopen(os.memfd_create("options"), "wb", buffering=0) as options:
        for name, value in target.secret_options:
            options.write(f"{name}={value}\n".encode())
        yield options.fileno()


def _relay(target: StreamTarget, secrets: int) -> list[str]:
    """PyAV is built without SRT; the program has it. It gets Matroska: its reader of MPEG-TS crashes in this build."""
    from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]

    quiet = ("-nostdin", "-hide_banner", "-loglevel", "quiet")
    read = ("-fflags", "nobuffer", "-probesize", "32", "-analyzeduration", "0", "-f", "matroska", "-i", "pipe:0")
    return [
        get_ffmpeg_exe(),
        *quiet,
        *read,
        "-c",
        "copy",
        "-f",
        "mpegts",
        "-fpre",
        f"/dev/fd/{secrets}",
        target.public_url,
    ]


class _Stream:
    def __init__(self, output: OutputContainer, size: tuple[int, int], kilobits: int) -> None:
        self._output = output
        self._pictures = _picture_stream(output, size, kilobits)
        self._sound = _sound_stream(output)
        self._heard = 0

    def send(self, programme: EndlessMatch, from_ms: int, number: int) -> None:
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
