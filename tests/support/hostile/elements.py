"""Where the boxes of an MP4 file and the elements of a Matroska file begin, those inside of others too."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

PARENTS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl", b"dinf", b"edts", b"udta", b"mvex", b"moof", b"traf"})
MASTERS = frozenset({0x1A45DFA3, 0x18538067, 0x1549A966, 0x1654AE6B, 0xAE, 0xE0, 0xE1, 0x1F43B675, 0x1C53BB6B, 0xBB})


@dataclass(frozen=True)
class Element:
    kind: bytes
    start: int
    content: int  # where its content begins
    end: int


def boxes(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Element]:
    end = len(data) if end is None else end
    while start + 8 <= end:
        length, kind = struct.unpack(">I4s", data[start : start + 8])
        length = length if length >= 8 else end - start
        yield Element(kind, start, start + 8, start + length)
        if kind in PARENTS:
            yield from boxes(data, start + 8, start + length)
        start += length


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(content), kind) + content


def ebml(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Element]:
    end = len(data) if end is None else end
    while start < end:
        name_width = 9 - data[start].bit_length() if data[start] else 8
        at = start + name_width
        if at >= end:
            return
        width = 9 - data[at].bit_length() if data[at] else 8
        length = int.from_bytes(data[at : at + width]) & ((1 << 7 * width) - 1)
        name, content = data[start:at], at + width
        yield Element(name, start, content, content + length)
        if int.from_bytes(name) in MASTERS:
            yield from ebml(data, content, min(content + length, end))
        start = content + length
