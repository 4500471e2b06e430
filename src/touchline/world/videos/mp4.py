"""One copy's file: H.264 and AAC in MP4, playable from its beginning. Nothing in it tells when or where it was made."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import cv2
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media.child.packets import encode, mux

from .drawing.paint import Pixels
from .drawing.shown import RATE
from .sound import SOUND_HZ, Sound

PIECE = 1024  # samples that AAC takes at once


class Mp4:
    """Give it picture after picture; sound is written as far as there are pictures."""

    def __init__(self, path: Path, size: tuple[int, int], quality: int, sound: Sound) -> None:
        options = {"movflags": "+faststart", "fflags": "+bitexact"}
        self._output: OutputContainer = av.open(str(path), "w", format="mp4", container_options=options)
        self._pictures, self._sound = _picture_stream(self._output, size, quality), _sound_stream(self._output)
        self._samples, self._shown, self._heard = sound, 0, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            mux(self._output, encode(self._pictures, None))
            mux(self._output, encode(self._sound, None))
        self._output.close()

    def add(self, picture: Pixels) -> None:
        mux(self._output, encode(self._pictures, video_frame(picture, self._shown)))
        self._shown += 1
        while self._heard * RATE < self._shown * SOUND_HZ and self._heard < self._samples.shape[1]:
            mux(self._output, encode(self._sound, audio_frame(self._samples, self._heard)))
            self._heard += PIECE


def video_frame(picture: Pixels, number: int) -> VideoFrame:
    planes: Pixels = cv2.cvtColor(picture, cv2.COLOR_BGR2YUV_I420).view(np.uint8)
    frame = VideoFrame.from_ndarray(planes, format="yuv420p")  # pyright: ignore[reportUnknownMemberType]
    frame.pts, frame.time_base = number, Fraction(1, RATE)
    return frame


def audio_frame(sound: Sound, first: int) -> AudioFrame:
    part = np.ascontiguousarray(sound[:, first : first + PIECE])
    frame = AudioFrame.from_ndarray(part, format="fltp", layout="stereo")  # pyright: ignore[reportUnknownMemberType]
    frame.sample_rate, frame.pts, frame.time_base = SOUND_HZ, first, Fraction(1, SOUND_HZ)
    return frame


def _picture_stream(output: OutputContainer, size: tuple[int, int], quality: int) -> VideoStream:
    options = {"preset": "superfast", "crf": str(quality), "g": str(2 * RATE), "threads": "1", "bf": "0"}
    stream = output.add_stream("libx264", rate=RATE, options=options)  # pyright: ignore[reportUnknownMemberType]
    stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
    stream.codec_context.time_base = Fraction(1, RATE)
    stream.codec_context.thread_count = 1  # one, so that the same pictures make the same bytes
    return stream


def _sound_stream(output: OutputContainer) -> AudioStream:
    quickly = {"aac_coder": "fast"}  # a crowd sounds the same
    stream = output.add_stream("aac", rate=SOUND_HZ, layout="stereo", options=quickly)  # pyright: ignore[reportUnknownMemberType]
    stream.bit_rate = 96_000
    return stream
