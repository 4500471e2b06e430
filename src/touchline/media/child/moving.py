"""The samples of a file are moved into the segments of HLS, run by run, as they lie in it.

Invariant: every segment begins with a keyframe; what waits to be written is bounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from touchline.media.model import MediaFailure
from touchline.media.playlists import PlaylistSegment, media_playlist

from .channel import Channel
from .failures import InputRefused
from .folder import OutputFolder
from .fragments import fragment
from .order import Options
from .renditions import HEADER, PLAYLIST, SEGMENTS
from .sample_tables import Numbers, TrackSamples
from .source import INPUT
from .straight import FastPath, FastPathTrack

AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class SegmentSamples:
    """What goes into one segment: of each track that has something then, with its number."""

    duration_s: float
    parts: Sequence[tuple[int, TrackSamples]]


def write_fast_path(found: FastPath, folder: OutputFolder, channel: Channel, options: Options) -> None:
    cuts = list(_cuts(found.tracks, options.segment_ms))
    segments = [PlaylistSegment(SEGMENTS % number, cut.duration_s) for number, cut in enumerate(cuts)]
    _write(folder, HEADER, [found.header])
    for number, (segment, cut) in enumerate(zip(segments, cuts, strict=True), 1):
        _write(folder, segment.name, _content(number, cut))
        channel.progress(number / len(cuts))
    _write(folder, PLAYLIST, [media_playlist(HEADER, segments).encode()])


def _cuts(tracks: Sequence[FastPathTrack], segment_ms: int) -> Iterator[SegmentSamples]:
    pictures, scale = tracks[0].samples, tracks[0].scale
    starts = _starts(pictures, segment_ms * scale)
    times = [int(pictures.shown[start]) / scale for start in starts]
    ends = [*times[1:], int((pictures.shown + pictures.durations).max()) / scale]
    edges = [[*starts, len(pictures)], *(_edges(track, times) for track in tracks[1:])]
    for number, (begin, end) in enumerate(zip(times, ends, strict=True)):
        spans = [slice(each[number], each[number + 1]) for each in edges]
        parts = [track.samples.cut(span) for track, span in zip(tracks, spans, strict=True)]
        yield SegmentSamples(end - begin, [(track, part) for track, part in enumerate(parts, 1) if len(part)])


def _starts(pictures: TrackSamples, step: int) -> list[int]:
    """The first keyframe after each multiple of the wanted length."""
    starts = [0]
    for key in np.flatnonzero(pictures.is_key).tolist():
        if (int(pictures.shown[key]) - int(pictures.shown[0])) * 1000 >= step * len(starts):
            starts.append(key)
    return starts


def _edges(track: FastPathTrack, times: Sequence[float]) -> list[int]:
    """Sound goes with the pictures during which it is heard; what comes before the first, with the first."""
    places = np.searchsorted(track.samples.decoded, [round(time * track.scale) for time in times[1:]])
    return [0, *places.tolist(), len(track.samples)]


def _write(folder: OutputFolder, name: str, content: Iterable[bytes]) -> None:
    part = folder.open(folder.path(name), 0, {})
    for data in content:
        part.write(data)
    part.close()


def _content(number: int, cut: SegmentSamples) -> Iterator[bytes]:
    gathered, size = [fragment(number, cut.parts)], 0
    for _, samples in cut.parts:
        for data in _runs(samples.offsets, samples.sizes):
            gathered.append(data)
            size += len(data)
            if size >= AT_ONCE:
                yield b"".join(gathered)
                gathered, size = [], 0
    yield b"".join(gathered)


def _runs(offsets: Numbers, sizes: Numbers) -> Iterator[bytes]:
    """Samples that lie behind each other are read together, but never much at once."""
    breaks = np.flatnonzero(offsets[1:] != offsets[:-1] + sizes[:-1]) + 1
    starts = offsets[np.concatenate([[0], breaks])].tolist()
    lengths = np.add.reduceat(sizes, np.concatenate([[0], breaks])).tolist()
    for start, length in zip(starts, lengths, strict=True):
        for position in range(start, start + length, AT_ONCE):
            yield _read(position, min(AT_ONCE, start + length - position))


def _read(position: int, length: int) -> bytes:
    data = os.pread(INPUT, length, position)
    if len(data) < length:
        raise InputRefused(MediaFailure.TRUNCATED, "it became shorter while it was read")
    return data
