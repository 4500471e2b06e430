"""A stream that goes into HLS as it is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from av.audio.stream import AudioStream
from av.bitstream import BitStreamFilterContext
from av.container import OutputContainer
from av.video.stream import VideoStream

from .packets import AnyPacket, filtered
from .source import VideoSource, tick_of
from .timeline import PacketTimeline


class CopiedTrack:
    def __init__(self, stream: VideoStream | AudioStream, source: VideoSource, output: OutputContainer) -> None:
        self._target = output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]
        rate = stream.average_rate if stream.type == "video" else None
        self._timeline = PacketTimeline(tick_of(stream), rate, source.start)
        self._unwrap = _adts_remover(stream, self._target)

    @property
    def begins(self) -> Fraction:
        return self._timeline.begins

    def take(self, packet: AnyPacket) -> Sequence[AnyPacket]:
        return self._addressed(self._timeline.take(packet))

    def finish(self) -> Sequence[AnyPacket]:
        return self._addressed(self._timeline.finish())

    def _addressed(self, packets: Sequence[AnyPacket]) -> Sequence[AnyPacket]:
        if self._unwrap:
            packets = [plain for packet in packets for plain in filtered(self._unwrap, packet)]
        for packet in packets:
            packet.stream = self._target
        return packets


def _adts_remover(
    stream: VideoStream | AudioStream, target: VideoStream | AudioStream
) -> BitStreamFilterContext | None:
    """In MPEG-TS each AAC frame has its own header, which MP4 keeps once for all."""
    if stream.type != "audio" or stream.codec_context.extradata:
        return None
    return BitStreamFilterContext("aac_adtstoasc", stream, target)
