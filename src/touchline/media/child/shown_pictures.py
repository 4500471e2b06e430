"""Decoded pictures with the times at which they are shown, from zero on: the one decoding that all renditions share.

Invariant: times rise, and keyframes lie on one grid of media time, so that renditions can be switched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.video.frame import VideoFrame

from touchline.media.model import VideoTrack

from .order import Options
from .packets import AnyPacket, decode
from .pictures import Deinterlacer
from .source import VideoSource, ready_to_decode, tick_of


@dataclass(frozen=True, slots=True)
class ShownPicture:
    picture: VideoFrame
    time: int  # in ticks of the source
    is_key: bool


class PictureDecoder:
    def __init__(self, source: VideoSource, video: VideoTrack, options: Options) -> None:
        self._source = source
        self._decoder = source.video.codec_context
        self.tick = tick_of(source.video)
        self._start = int(source.start / self.tick) if source.keeps_times else None
        self._segment = max(1, int(Fraction(options.segment_ms, 1000) / self.tick))
        self._progressive = Deinterlacer(self.tick) if video.is_interlaced else None
        self._read, self._last, self._next_key = -1, -1, 0
        ready_to_decode(source.video, options, options.threads)

    def take(self, packet: AnyPacket) -> Iterator[ShownPicture]:
        return self._dated(self._whole(decode(self._decoder, packet)))

    def finish(self) -> Iterator[ShownPicture]:
        yield from self._dated(self._whole(decode(self._decoder, None)))
        if self._progressive:
            yield from self._dated(self._progressive.finish())

    def _whole(self, pictures: Iterable[VideoFrame]) -> Iterator[tuple[VideoFrame, int]]:
        for picture in pictures:
            if (time := self._time(picture)) is not None:
                self._read = time
                yield from self._progressive.take(picture, time) if self._progressive else [(picture, time)]

    def _dated(self, pictures: Iterable[tuple[VideoFrame, int]]) -> Iterator[ShownPicture]:
        for picture, time in pictures:
            if time <= self._last:
                continue  # another picture has had this time already
            self._last = time
            is_key = time >= self._next_key
            if is_key:
                self._next_key = (time // self._segment + 1) * self._segment
            yield ShownPicture(picture, time, is_key)

    def _time(self, picture: VideoFrame) -> int | None:
        """Nothing for a picture without a time."""
        time = self._source.time_of(picture)
        if time is None:
            return None if self._source.keeps_times else self._read + 1
        if self._start is None:
            self._start = time  # without times of their own, pictures begin with the first and go by the tick
        return time - self._start
