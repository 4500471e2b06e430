"""How far a pass over a source is, by the time of the last picture that was read."""

from __future__ import annotations

from collections.abc import Sequence

from touchline.media.model import Probe

from .channel import Channel
from .packets import AnyPacket
from .source import VideoSource, tick_of

STEPS = 400  # at which it is looked how far a pass is; each percent is told once
DECODING = 0.3  # of what encoding a picture of the same size takes


class Meter:
    """Says which share of the whole is done; a pass goes from one share to another."""

    def __init__(self, channel: Channel, facts: Probe, begin: float, end: float) -> None:
        self._channel = channel
        self._duration_ms = facts.duration_ms
        self._begin, self._end = begin, end
        self._video, self._start, self._share_of_a_tick = 0, 0, 0.0
        self._next, self._step = 0, 1

    def begin(self, source: VideoSource) -> None:
        tick = tick_of(source.video)
        self._video = source.video.index
        self._start = int(source.start / tick)
        self._share_of_a_tick = float(tick * 1000 / self._duration_ms)
        self._next, self._step = self._start, max(1, int(self._duration_ms / (tick * 1000 * STEPS)))

    def see(self, packet: AnyPacket) -> None:
        time = packet.dts
        if packet.stream_index == self._video and time is not None and time >= self._next:
            self._next = time + self._step
            done = min(1.0, max(0.0, (time - self._start) * self._share_of_a_tick))
            self._channel.progress(self._begin + (self._end - self._begin) * done)

    def finish(self) -> None:
        self._channel.progress(self._end)


def shares(passes: Sequence[Sequence[tuple[int, int]]], seen: tuple[int, int]) -> list[tuple[float, float]]:
    """Where each pass begins and ends, by the pixels that it decodes and encodes."""
    decoded = DECODING * seen[0] * seen[1]
    work = [decoded + sum(width * height for width, height in sizes) for sizes in passes]
    ends = [sum(work[: number + 1]) / sum(work) for number in range(len(work))]
    return list(zip([0.0, *ends], ends, strict=False))
