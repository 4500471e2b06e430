"""The part of a source that a clip needs: where to begin to read, and which of the pictures are in the range.

Invariant: reading begins at a picture from which all of the range can be decoded, or at the very beginning.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from av.error import FFmpegError

from touchline.media import clip_rules
from touchline.media.clip_model import ClipOptions
from touchline.media.model import ContainerFormat

from .order import Options
from .packets import AnyPacket
from .source import VideoSource, open_source, tick_of

MARGINS_S = (1, 10, 60)  # before the start: sound may lie in front of its pictures
MOST_PACKETS = 500
MICROSECOND = Fraction(1, 1_000_000)


@dataclass(frozen=True, slots=True)
class ReadRange:
    """In ticks of the pictures, as the source counts them."""

    kind: ContainerFormat
    bounds: Options
    tick: Fraction
    zero: int  # media time zero
    start: int
    end: int
    entry: int | None  # where to begin; none is the very beginning

    @contextmanager
    def opened(self) -> Generator[VideoSource]:
        with open_source(self.kind, self.bounds) as source:
            if self.entry is not None:
                source.container.seek(self.entry, stream=source.video)
            yield source

    def media_ms(self, time: int) -> int:
        return round((time - self.zero) * self.tick * 1000)


def find_read_range(kind: ContainerFormat, bounds: Options, wanted: ClipOptions) -> ReadRange:
    with open_source(kind, bounds) as source:
        tick = tick_of(source.video)
        zero = _zero(source, wanted.first_picture_us)
        start = zero + clip_rules.first_tick(wanted.start_ms, tick)
        end = zero + clip_rules.first_tick(wanted.end_ms, tick)
        return ReadRange(kind, bounds, tick, zero, start, end, _entry(source, start) if source.keeps_times else None)


def time_of(packet: AnyPacket, source: VideoSource) -> int | None:
    return packet.pts if source.keeps_times else packet.dts


def _zero(source: VideoSource, first_picture_us: int | None) -> int:
    tick = tick_of(source.video)
    if first_picture_us is None and source.keeps_times:
        return int(source.start / tick)
    first = next(_video_packets(source), None)
    shown = time_of(first, source) if first else None
    return (shown or 0) - round((first_picture_us or 0) * MICROSECOND / tick)


def _entry(source: VideoSource, start: int) -> int | None:
    """Not every container finds what it is asked for: what it finds is looked at."""
    for margin in MARGINS_S:
        place = start - int(margin / tick_of(source.video))
        try:
            source.container.seek(place, stream=source.video)
            packets = islice(_video_packets(source), MOST_PACKETS)
            key = next((packet for packet in packets if packet.is_keyframe), None)
        except FFmpegError:
            return None
        if key and key.pts is not None and key.pts <= start:
            return place
    return None


def _video_packets(source: VideoSource) -> Iterator[AnyPacket]:
    return (packet for packet in source.container.demux(source.video) if packet.size)
