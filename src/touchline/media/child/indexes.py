"""Whether a file says where its pictures are, and says so truly.

Invariant: reads only headers and the index itself, each step goes forward, and the number of steps is bounded.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from av.video.stream import VideoStream

from touchline.media.model import ContainerFormat, Index

from .boxes import walk_boxes
from .source import INPUT, VideoSource
from .wholeness import SEGMENT, variable_size

MOST_STEPS = 100_000
CUES = 0x1C53BB6B
LIST_HEADER = struct.Struct("<4sI")
AVI_ENTRY = struct.Struct("<4sIII")


def index_of(source: VideoSource) -> Index:
    """The others have none by their nature: one reads them, or searches by halves."""
    match source.format:
        case ContainerFormat.MP4 | ContainerFormat.QUICKTIME:
            return _of_boxes(source.video)
        case ContainerFormat.MATROSKA | ContainerFormat.WEBM:
            return Index.WHOLE if CUES in _elements() else Index.MISSING
        case ContainerFormat.AVI:
            return _of_chunks()
        case _:
            return Index.MISSING


def _of_boxes(video: VideoStream) -> Index:
    kinds = {kind for kind, _ in walk_boxes(INPUT)}
    if b"moof" in kinds:  # in pieces, each of which has its own
        return Index.WHOLE if kinds & {b"sidx", b"mfra"} else Index.MISSING
    entries, size = video.index_entries, os.fstat(INPUT).st_size
    looked_at = range(0, len(entries), max(1, len(entries) // MOST_STEPS))
    outside = any(entries[number].pos + entries[number].size > size for number in looked_at)
    return Index.BROKEN if outside else Index.WHOLE


def _elements() -> Iterator[int]:
    """Matroska: what lies in its one segment. One that was written live does not say how long its parts are."""
    position = 4 + sum(_length(4))
    if int.from_bytes(os.pread(INPUT, 4, position)) != SEGMENT:
        return
    position += 4 + variable_size(os.pread(INPUT, 8, position + 4))[1]
    for _ in range(MOST_STEPS):
        first = os.pread(INPUT, 1, position)
        if not first or not first[0]:
            return
        width = 9 - first[0].bit_length()
        yield int.from_bytes(os.pread(INPUT, width, position))
        length, used = variable_size(os.pread(INPUT, 8, position + width))
        if length is None:
            return
        position += width + used + length


def _length(position: int) -> tuple[int, int]:
    length, used = variable_size(os.pread(INPUT, 8, position))
    return length or 0, used


def _of_chunks() -> Index:
    """AVI: the chunk `idx1` behind the pictures; entries count from the file's start or from the list of pictures."""
    size, position = os.fstat(INPUT).st_size, 12
    for _ in range(MOST_STEPS):
        header = os.pread(INPUT, LIST_HEADER.size, position)
        if len(header) < LIST_HEADER.size:
            return Index.MISSING
        kind, length = LIST_HEADER.unpack(header)
        position += LIST_HEADER.size
        if kind == b"idx1":
            return _of_entries(os.pread(INPUT, min(length, MOST_STEPS * AVI_ENTRY.size), position), size)
        position += length + length % 2
    return Index.MISSING


def _of_entries(table: bytes, size: int) -> Index:
    whole = table[: len(table) // AVI_ENTRY.size * AVI_ENTRY.size]
    ends = [offset + length for _, _, offset, length in AVI_ENTRY.iter_unpack(whole)]
    if not ends:
        return Index.MISSING
    return Index.BROKEN if max(ends) > size else Index.WHOLE
