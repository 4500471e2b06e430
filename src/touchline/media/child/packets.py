"""Packets into and out of the codecs, and their times on the way to a muxer. The one place that knows how loosely the
library types them.

Decoding goes on behind a broken packet: one bad picture does not end a video.
Invariant: times count from zero, decoding times rise, and each packet lasts until the next, so that segments last
exactly as long as their pictures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, overload

from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import OutputContainer
from av.error import EOFError as Finished, InvalidDataError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

AnyPacket: TypeAlias = "Packet[Any]"
Encoder: TypeAlias = VideoStream | AudioStream | VideoCodecContext


class PacketStream(Protocol):
    """What takes the packets of one stream and gives those that are written instead of them."""

    def take(self, packet: AnyPacket) -> Iterable[AnyPacket]: ...
    def finish(self) -> Iterable[AnyPacket]: ...


@overload
def decode(context: VideoCodecContext, packet: AnyPacket | None) -> list[VideoFrame]: ...
@overload
def decode(context: AudioCodecContext, packet: AnyPacket | None) -> list[AudioFrame]: ...
def decode(
    context: VideoCodecContext | AudioCodecContext, packet: AnyPacket | None
) -> list[VideoFrame] | list[AudioFrame]:
    """No packet: what the decoder still has."""
    try:
        return context.decode(packet)  # pyright: ignore[reportUnknownMemberType]
    except (InvalidDataError, Finished):
        return []


def encode(encoder: Encoder, frame: VideoFrame | AudioFrame | None) -> list[AnyPacket]:
    """No frame: what the encoder still has."""
    return encoder.encode(frame)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportArgumentType]


def filtered(by: BitStreamFilterContext, packet: AnyPacket) -> list[AnyPacket]:
    return by.filter(packet)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def mux(output: OutputContainer, packets: Iterable[AnyPacket]) -> None:
    for packet in packets:
        output.mux_one(packet)  # pyright: ignore[reportUnknownMemberType]


class PacketTimeline:
    """Holds back what it cannot know yet: packets without a decoding time, and how long the last one lasts."""

    def __init__(self, tick: Fraction, rate: Fraction | None, start: Fraction = Fraction(0)) -> None:
        self._tick = tick
        self._shift = int(start / tick)
        self._step = max(1, round(1 / rate / tick)) if rate else 1
        self._undated: list[AnyPacket] = []
        self._held: AnyPacket | None = None
        self._last = 0  # the decoding time of what is held
        self._first: int | None = None

    @property
    def begins(self) -> Fraction:
        """The first decoding time, in seconds: below zero where pictures are reordered or sound has a lead."""
        return (self._first or 0) * self._tick

    def take(self, packet: AnyPacket) -> Sequence[AnyPacket]:
        """No generator: this is called for every packet of a file that is copied."""
        decoded = packet.dts
        if decoded is None:
            if packet.pts is not None:
                self._undated.append(packet)
            return ()
        decoded -= self._shift
        before = self._counted_back(decoded) if self._undated else ()
        return (*before, *self._placed(packet, decoded))

    def finish(self) -> Sequence[AnyPacket]:
        following = self._last + self._step if self._held else self._first_shown()
        rest = self._counted_back(following + len(self._undated) * self._step)
        if self._held:
            self._held.duration = self._held.duration or self._step
            rest.append(self._held)
        return rest

    def _counted_back(self, following: int) -> list[AnyPacket]:
        """Matroska leaves the first decoding times out where pictures are reordered: count back from the next."""
        undated, self._undated = self._undated, []
        placed: list[AnyPacket] = []
        for left, packet in zip(range(len(undated), 0, -1), undated, strict=True):
            placed += self._placed(packet, following - left * self._step)
        return placed

    def _first_shown(self) -> int:
        return min((packet.pts or 0 for packet in self._undated), default=0) - self._shift

    def _placed(self, packet: AnyPacket, decoded: int) -> Sequence[AnyPacket]:
        """The one that was held until now."""
        released: Sequence[AnyPacket] = ()
        if self._held:
            decoded = max(decoded, self._last + 1)
            self._held.duration = decoded - self._last
            released = (self._held,)
        elif self._first is None:
            self._first = decoded
        shown = decoded if packet.pts is None else packet.pts - self._shift
        packet.dts, packet.pts = decoded, max(shown, decoded)
        self._held, self._last = packet, decoded
        return released
