"""Packets into and out of the codecs. The one place that knows how loosely the library types them.

Decoding goes on behind a broken packet: one bad picture does not end a video.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, overload

from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import OutputContainer
from av.error import EOFError as Finished
from av.error import InvalidDataError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

AnyPacket: TypeAlias = "Packet[Any]"
Encoder: TypeAlias = VideoStream | AudioStream | VideoCodecContext


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
