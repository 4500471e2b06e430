"""Decoding only what samples on a grid need: pictures that are none, and that no other is made of, are left out.

Only for H.264, whose pictures say whether others refer to them. Invariant: every sample is bit for bit the picture that
decoding everything gives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from av.video.frame import VideoFrame

from .packets import AnyPacket, decode
from .source import VideoSource, tick_of

CODECS = frozenset({"h264"})
AHEAD = 16  # packets: a picture is decoded at most so many before another that is shown earlier
REMEMBERED = 64  # numbers; of what was forgotten nothing is left out
SPARE, ALL = "NONREF", "DEFAULT"


@dataclass(frozen=True, slots=True)
class Grid:
    """From a time in ticks to the number of points of a grid that are not later; all in whole numbers."""

    ticks: int
    zero: int
    divisor: int

    @classmethod
    def of(cls, tick: Fraction, start: Fraction, interval: Fraction) -> Grid:
        """All in seconds. The points are multiples of the interval, from the start on."""
        tick, start = tick / interval, start / interval
        divisor = tick.denominator * start.denominator
        return cls(int(tick * divisor), int(start * divisor), divisor)

    @classmethod
    def for_pictures(cls, source: VideoSource, interval: Fraction) -> Grid:
        return cls.of(tick_of(source.video), source.start, interval)

    def number(self, time: int) -> int:
        return max(0, (time * self.ticks - self.zero) // self.divisor)


def needed_pictures(source: VideoSource, grid: Grid) -> Iterator[VideoFrame]:
    """All pictures but some that are not the first at or behind a point of the grid."""
    context = source.video.codec_context
    if context.codec.canonical_name not in CODECS or not source.keeps_times or context.skip_frame != ALL:
        for packet in source.container.demux(source.video):
            yield from decode(context, packet)
        return
    for packet, is_needed in _judged(source, grid):
        context.skip_frame = ALL if is_needed else SPARE
        yield from decode(context, packet)


def _judged(source: VideoSource, grid: Grid) -> Iterator[tuple[AnyPacket, bool]]:
    """Whether it may be a sample: it is none if another comes before it that counts as many points."""
    first: dict[int, int] = {}
    waiting: deque[AnyPacket] = deque()
    for packet in source.container.demux(source.video):
        time = packet.pts
        if time is not None and packet.size and not packet.is_discard:
            number = grid.number(time)
            first[number] = min(time, first.get(number, time))
            if len(first) > REMEMBERED:
                del first[next(iter(first))]
        waiting.append(packet)
        if len(waiting) > AHEAD:
            yield _judge(waiting.popleft(), grid, first)
    for packet in waiting:
        yield _judge(packet, grid, first)


def _judge(packet: AnyPacket, grid: Grid, first: dict[int, int]) -> tuple[AnyPacket, bool]:
    time = packet.pts
    if time is None or not packet.size:
        return packet, True
    number = grid.number(time)
    return packet, number > 0 and first.get(number, time) >= time
