"""Whether a video can go into HLS straight from the tables of its own index, without a look at its packets.

The libraries are asked what they make of the same file: how its first packets are timed, and how many there are.
Invariant: where tables and libraries differ in anything, the answer is no, and packets are copied one by one.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import av
import numpy as np
from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.video.stream import VideoStream

from touchline.media.model import ContainerFormat

from .packets import AnyPacket
from .sample_tables import Numbers, TrackSamples, read_samples
from .source import INPUT, VideoSource, tick_of

IN_PIECES = "empty_moov+default_base_moof+skip_trailer"  # a header that promises fragments and lists no sample
LARGEST = 1 << 60  # a time on the clock of the output, before it is divided: no machine's number runs over
AnyStream = VideoStream | AudioStream


@dataclass(frozen=True, slots=True)
class FastPathTrack:
    """The samples of one stream, on the clock of the output."""

    samples: TrackSamples
    scale: int  # ticks of a second


@dataclass(frozen=True, slots=True)
class FastPath:
    header: bytes
    tracks: Sequence[FastPathTrack]  # the pictures first
    lead_s: float  # before the first moment of the source


def find_fast_path(source: VideoSource, first: Sequence[AnyPacket]) -> FastPath | None:
    """`first`: packets as the libraries read them."""
    if source.format not in (ContainerFormat.MP4, ContainerFormat.QUICKTIME):
        return None
    tables = read_samples(INPUT, {stream.id for stream in source.tracks})
    checked = [_checked(stream, tables.get(stream.id), first) for stream in source.tracks]
    known = [samples for samples in checked if samples]
    if len(known) < len(checked):
        return None
    begins = min(int(each.decoded[0]) * tick_of(stream) for each, stream in zip(known, source.tracks, strict=True))
    header, scales = _header(source.tracks)
    if any(scale * int(samples.decoded[-1]) >= LARGEST for samples, scale in zip(known, scales, strict=True)):
        return None
    tracks = [
        FastPathTrack(_timed(samples, tick_of(stream), begins, scale), scale)
        for samples, stream, scale in zip(known, source.tracks, scales, strict=True)
    ]
    is_plain = _begins_with_keys(known[0]) and all(_is_in_order(each.samples) for each in tracks)
    return FastPath(header, tracks, float(max(source.start - begins, 0))) if is_plain else None


def _checked(stream: AnyStream, samples: TrackSamples | None, first: Sequence[AnyPacket]) -> TrackSamples | None:
    """On the libraries' clock, if theirs and the tables' differ by one shift. They drop what an edit list drops."""
    seen = [packet for packet in first if packet.stream_index == stream.index and packet.size]
    entries = stream.index_entries
    if samples is None or not seen or seen[0].dts is None or len(entries) != len(samples):
        return None
    shift = seen[0].dts - int(samples.decoded[0])
    moved = replace(samples, decoded=samples.decoded + shift, shown=samples.shown + shift)
    columns = moved.offsets, moved.sizes, moved.decoded, moved.shown
    rows = np.stack([column[: len(seen)] for column in columns], axis=1).tolist()
    last = entries[len(entries) - 1]
    if rows != [[packet.pos, packet.size, packet.dts, packet.pts] for packet in seen]:
        return None
    is_same_end = [int(column[-1]) for column in columns[:3]] == [last.pos, last.size, last.timestamp]
    return moved if is_same_end else None


def _header(streams: Sequence[AnyStream]) -> tuple[bytes, list[int]]:
    """What each fragment is to be read with, and the clocks that it says they have."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4", container_options={"movflags": IN_PIECES}) as output:
        like = [_like(output, stream) for stream in streams]
        output.start_encoding()
        return buffer.getvalue(), [int(1 / tick_of(stream)) for stream in like]


def _like(output: OutputContainer, stream: AnyStream) -> AnyStream:
    return output.add_stream_from_template(stream)  # pyright: ignore[reportUnknownMemberType]


def _timed(samples: TrackSamples, tick: Fraction, begins: Fraction, scale: int) -> TrackSamples:
    """From zero on, in the ticks of the output."""
    factor, zero = tick * scale, round(begins * scale)

    def ticks(times: Numbers) -> Numbers:
        return (2 * times * factor.numerator + factor.denominator) // (2 * factor.denominator) - zero

    decoded = ticks(samples.decoded)
    ends = ticks(samples.decoded[-1:] + samples.durations[-1:])
    durations = np.diff(decoded, append=ends)
    return replace(samples, decoded=decoded, shown=ticks(samples.shown), durations=durations)


def _begins_with_keys(pictures: TrackSamples) -> bool:
    """Segments do: the first picture is one, and each is shown after those before it."""
    shown = pictures.shown[pictures.is_key]
    return bool(pictures.is_key[0]) and bool((np.diff(shown) > 0).all())


def _is_in_order(samples: TrackSamples) -> bool:
    """A last one without a duration is left to those who count it."""
    return bool((samples.durations > 0).all() and (samples.shown >= samples.decoded).all())
