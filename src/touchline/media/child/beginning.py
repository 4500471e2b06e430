"""The first packets of a source, and a few pictures of them.

Invariant: what is read is bounded, and what is kept of it; it can be had again without reading it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from touchline.media.model import MediaFailure

from .failures import InputRefused
from .order import Options
from .packets import AnyPacket, decode
from .source import VideoSource, ready_to_decode

MOST_PACKETS = 300  # of pictures: recordings may begin in the middle of a group of them
PICTURES = 4  # some flag only every other one as interlaced
MOST_BYTES = 32 * 1024**2  # of packets that are kept for whoever goes on
PROGRESSIVE = 1  # where the libraries know already that no picture is interlaced, one is enough


@dataclass(frozen=True, slots=True)
class Beginning:
    """What reading the first packets showed."""

    pictures: Sequence[VideoFrame]
    times: Sequence[int]  # of the packets, in ticks
    is_hidden: bool  # an edit list cuts off the first picture
    packets: Iterator[AnyPacket] | None  # of all streams, from the very first one on; none where they are too large


def read_beginning(source: VideoSource, options: Options) -> Beginning:
    """Without an index that tells, the times of pictures are those that are read here."""
    ready_to_decode(source.video, options, threads=1)  # more would read ahead before the first one is out
    pictures: list[VideoFrame] = []
    times: list[int] = []
    is_hidden = False
    wanted = 1 if source.video.codec_context.field_order == PROGRESSIVE else PICTURES
    enough = 0 if lists_every_picture(source.video) else MOST_PACKETS
    packets = ReplayablePackets(source.container.demux())
    for packet in islice((each for each in packets if each.stream_index == source.video.index), MOST_PACKETS):
        if packet.pts is not None:
            is_hidden = is_hidden or (not times and packet.is_discard)
            times.append(packet.pts)
        if len(pictures) < wanted:
            pictures += decode(source.video.codec_context, packet if packet.size else None)
        elif len(times) >= enough:
            break
    if not pictures:
        raise InputRefused(MediaFailure.DAMAGED, "none of its first pictures can be decoded")
    return Beginning(pictures, times, is_hidden, packets.again())


class ReplayablePackets:
    """Packets, and once more what was read of them."""

    def __init__(self, packets: Iterator[AnyPacket]) -> None:
        self._packets = packets
        self._kept: list[AnyPacket] = []
        self._bytes = 0

    def __iter__(self) -> Iterator[AnyPacket]:
        for packet in self._packets:
            self._bytes += packet.size
            if self._bytes <= MOST_BYTES:
                self._kept.append(packet)
            else:
                self._kept.clear()
            yield packet

    def again(self) -> Iterator[AnyPacket] | None:
        """From the first one on, then those that were not read yet."""
        return chain(self._kept, self._packets) if self._bytes <= MOST_BYTES else None


def lists_every_picture(stream: VideoStream) -> bool:
    return bool(stream.frames) and len(stream.index_entries) >= stream.frames
