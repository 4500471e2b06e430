"""The times of packets on their way to a muxer.

Invariant: from zero on, decoding times rise, and each packet lasts until the next, so that segments last
exactly as long as their pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from .packets import AnyPacket


class Timeline:
    """Holds back what it cannot know yet: packets without a decoding time, and how long the last one lasts."""

    def __init__(self, tick: Fraction, rate: Fraction | None, start: Fraction = Fraction(0)) -> None:
        self._shift = int(start / tick)
        self._step = max(1, round(1 / rate / tick)) if rate else 1
        self._undated: list[AnyPacket] = []
        self._held: AnyPacket | None = None
        self._last = 0  # the decoding time of what is held

    def take(self, packet: AnyPacket) -> Iterator[AnyPacket]:
        shown, decoded = packet.pts, packet.dts
        if decoded is not None:
            yield from self._counted_back(decoded - self._shift)
            yield from self._placed(packet, decoded - self._shift)
        elif shown is not None:
            self._undated.append(packet)

    def finish(self) -> Iterator[AnyPacket]:
        following = self._last + self._step if self._held else self._first_shown()
        yield from self._counted_back(following + len(self._undated) * self._step)
        if self._held:
            self._held.duration = self._held.duration or self._step
            yield self._held

    def _counted_back(self, following: int) -> Iterator[AnyPacket]:
        """Matroska leaves the first decoding times out where pictures are reordered: count back from the next."""
        undated, self._undated = self._undated, []
        for left, packet in zip(range(len(undated), 0, -1), undated, strict=True):
            yield from self._placed(packet, following - left * self._step)

    def _first_shown(self) -> int:
        return min((packet.pts or 0 for packet in self._undated), default=0) - self._shift

    def _placed(self, packet: AnyPacket, decoded: int) -> Iterator[AnyPacket]:
        if self._held:
            decoded = max(decoded, self._last + 1)
            self._held.duration = decoded - self._last
            yield self._held
        shown = decoded if packet.pts is None else packet.pts - self._shift
        packet.dts, packet.pts = decoded, max(shown, decoded)
        self._held, self._last = packet, decoded
