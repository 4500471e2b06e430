"""Pictures of some moments of a video, as JPEGs, taken from pictures that are decoded anyway."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction

from av.video.frame import VideoFrame

from touchline.media import rules
from touchline.media.model import MediaFailure, Probe
from touchline.media.survey_model import PICTURE

from .channel import Channel
from .failures import InputRefused
from .pictures import DisplayTransform
from .source import VideoSource
from .sparing import Grid
from .stills import Stills

MILLISECOND = Fraction(1, 1000)


class Moments:
    """For each the first picture that is shown then or later. Where none follows, the last one stands for it."""

    def __init__(self, wanted_ms: Sequence[int], source: VideoSource, facts: Probe, channel: Channel) -> None:
        self._waiting = deque(sorted(wanted_ms))
        self._source = source
        self._milliseconds = Grid.for_pictures(source, MILLISECOND)
        size = rules.even_size(*rules.display_size(facts.video))
        self._stills = Stills(size, DisplayTransform(facts.video.rotation, facts.video.light))
        self._duration_ms = facts.duration_ms
        self._channel = channel
        self._last: tuple[VideoFrame, int] | None = None
        self.taken_ms: list[int] = []

    def seen(self, pictures: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
        """All of them, on their way to whom they are decoded for."""
        for picture in pictures:
            time = self._source.time_of(picture)
            if self._waiting and time is not None:
                self._see(picture, self._milliseconds.number(time))
            yield picture

    def finish(self, pictures: Iterator[VideoFrame]) -> None:
        """As many more as it needs."""
        while self._waiting and next(pictures, None) is not None:
            pass
        if self._waiting:
            if self._last:
                self._write(*self._last)
            if not self.taken_ms:
                raise InputRefused(MediaFailure.DAMAGED, "none of its pictures can be decoded")

    def _see(self, picture: VideoFrame, at_ms: int) -> None:
        self._last = picture, at_ms
        if at_ms >= self._waiting[0]:
            self._write(picture, at_ms)
        while self._waiting and at_ms >= self._waiting[0]:
            self._waiting.popleft()

    def _write(self, picture: VideoFrame, at_ms: int) -> None:
        jpeg = self._stills.jpeg(picture)
        if not jpeg or at_ms in self.taken_ms:
            return
        with self._channel.create(PICTURE.format(at_ms)) as file:
            file.write(jpeg)
        self.taken_ms.append(at_ms)
        self._channel.progress(at_ms / self._duration_ms)
