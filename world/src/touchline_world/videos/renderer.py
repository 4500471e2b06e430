"""Renders takes into files: H.264 and AAC in MP4, playable from the beginning; all copies of one take at once.

Invariant: the same recipe makes the same bytes; nothing in a file says when or where it was made, and a file with its
final name is complete.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
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

from touchline.media.child.source import encode, mux
from touchline_world.videos.drawing.advert import draw_advert
from touchline_world.videos.drawing.football import draw_football
from touchline_world.videos.drawing.paint import RATE, DrawnPicture, Pixels
from touchline_world.videos.drawing.sports import draw_sport
from touchline_world.videos.drawing.studio import draw_studio

from .copies import Copier, canvas_of, size_of, span_of
from .model import Recipe, Take, TakeKind
from .sound import SOUND_HZ, Sound, sound_of

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


Drawer = Callable[[Take, tuple[int, int]], Iterator[DrawnPicture]]
DRAWERS: dict[TakeKind, Drawer] = {
    TakeKind.GOAL: draw_football,
    TakeKind.PLAY: draw_football,
    TakeKind.STUDIO: draw_studio,
    TakeKind.ADVERT: draw_advert,
    TakeKind.OTHER_SPORT: draw_sport,
}


def draw(take: Take, size: tuple[int, int]) -> Iterator[DrawnPicture]:
    return DRAWERS[take.kind](take, size)


REPORT_EVERY = 2 * RATE  # pictures


def make(recipes: Sequence[Recipe], folder: Path, report: Callable[[int, int], None] = lambda done, of: None) -> None:
    """Copies of one take. `report` is called with the number of pictures done."""
    take = recipes[0].take
    if any(each.take != take for each in recipes):
        raise ValueError("the recipes are not all of one take")
    cv2.setNumThreads(1)  # the others work for somebody else
    drafts = {each: folder / f".{each.key}.{os.getpid()}.part" for each in recipes}
    try:
        _write(take, drafts, report)
        for recipe, draft in drafts.items():
            draft.replace(folder / f"{recipe.key}.mp4")
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)


def _write(take: Take, drafts: dict[Recipe, Path], report: Callable[[int, int], None]) -> None:
    sound, count = sound_of(take), take.length_ms * RATE // 1000
    end_ms = max(span_of(each)[1] for each in drafts)
    with ExitStack() as files:
        copies: dict[tuple[int, int], list[tuple[Copier, Mp4]]] = defaultdict(list)
        for each, path in drafts.items():
            file = files.enter_context(Mp4(path, size_of(each.copy), each.copy.quality, _heard(sound, each)))
            copies[canvas_of(each.copy)].append((Copier(each), file))
        for number, drawn in enumerate(zip(*(draw(take, canvas) for canvas in copies), strict=True)):
            if drawn[0].at_ms >= end_ms:
                break
            for shown, made in zip(drawn, copies.values(), strict=True):
                _add(number, shown.picture, made)
            if number % REPORT_EVERY == 0:
                report(number, count)


def _add(number: int, picture: Pixels, made: Sequence[tuple[Copier, Mp4]]) -> None:
    for copier, file in made:
        for changed in copier.pictures(number, picture):
            file.add(changed)


def _heard(sound: Sound, recipe: Recipe) -> Sound:
    """The part of a copy; faster is higher."""
    begin, end = (value * SOUND_HZ // 1000 for value in span_of(recipe))
    part = sound[:, begin:end]
    if recipe.copy.speed_percent == 100:
        return part
    places = np.arange(0, part.shape[1] - 1, recipe.copy.speed_percent / 100)
    given = np.arange(float(part.shape[1]))
    rows: list[Sound] = [np.interp(places, given, part[row]) for row in range(2)]
    return np.stack(rows).astype(np.float32)
