"""Files that lie about what is in them, or that become much more than they are."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from .elements import Element, box, boxes

WORDS = (0, 0x7FFFFFFF, 0xFFFFFFFF, 0x40004000)  # the last is 16k x 16k, or 1e9 and some
MOST_WORDS = 10
HEAD = box(b"ftyp", b"isom\0\0\2\0isommp41")


def lying_words(good: bytes) -> Iterator[tuple[str, bytes]]:
    """Each number in the index, one after the other: durations, units of time, sizes, counts, places, lengths."""
    for element in boxes(good):
        if element.kind not in (b"mdat", b"ftyp", b"free"):
            for place in range(element.start, min(element.end - 3, element.content + 4 * MOST_WORDS), 4):
                for word in WORDS:
                    name = f"{element.kind.decode('latin-1')} {place - element.start} {word:#x}"
                    yield name, good[:place] + struct.pack(">I", word) + good[place + 4 :]


def eternal(good: bytes) -> Iterator[tuple[str, bytes]]:
    """1e9 seconds, everywhere where a duration stands, alone and together."""
    durations = {b"mvhd": 16, b"tkhd": 20, b"mdhd": 16}
    everywhere = bytearray(good)
    for element in boxes(good):
        if element.kind in durations:
            changed, place = bytearray(good), element.content + durations[element.kind]
            for content in (changed, everywhere):
                content[place : place + 4] = struct.pack(">I", 10**9)
                if element.kind != b"tkhd":  # it counts by the clock of the whole
                    content[place - 4 : place] = struct.pack(">I", 1)  # one tick a second
            yield f"eternal {element.kind.decode()}", bytes(changed)
    yield "eternal everywhere", bytes(everywhere)


def without_samples(good: bytes) -> Iterator[tuple[str, bytes]]:
    """The tables of the index are empty, each alone and all together."""
    counts = {b"stts": 4, b"stsc": 4, b"stsz": 8, b"stco": 4, b"stss": 4, b"ctts": 4}
    everywhere = bytearray(good)
    for element in boxes(good):
        if element.kind in counts:
            place = element.content + counts[element.kind]
            everywhere[place : place + 4] = bytes(4)
            yield f"no {element.kind.decode()} {place}", good[:place] + bytes(4) + good[place + 4 :]
    yield "no tables", bytes(everywhere)


def many_tracks(good: bytes) -> Iterator[tuple[str, bytes]]:
    moov = next(element for element in boxes(good) if element.kind == b"moov")
    head = next(element for element in boxes(good) if element.kind == b"mvhd")
    track = next(element for element in boxes(good) if element.kind == b"trak")
    for count in (33, 1000, 10_000):
        content = _of(good, head) + _of(good, track) * count
        yield f"{count} tracks", good[: moov.start] + box(b"moov", content) + good[moov.end :]


def expanding(good: bytes) -> Iterator[tuple[str, bytes]]:
    moov = next(element for element in boxes(good) if element.kind == b"moov")
    yield "compressed index", _compressed(_of(good, moov), len(_of(good, moov))) + good[moov.end :]
    for size in (1 << 20, 64 << 20):
        yield f"zeros in a compressed index {size}", _compressed(bytes(size), size)
    yield "a compressed index that lies", _compressed(bytes(1 << 20), 0x7FFFFFFF)
    for depth in (11, 1000, 20_000):
        nested = b""
        for _ in range(depth):
            nested = struct.pack(">I4s", 8 + len(nested), b"moov") + nested
        yield f"{depth} deep", HEAD + nested
    yield "many empty boxes", HEAD + box(b"moov", box(b"free", b"") * 200_000)


def huge_pictures(motion: bytes) -> Iterator[tuple[str, bytes]]:
    """JPEGs in a movie that say of themselves how large they are: all of them, or only a later one."""
    places = [place for place in range(len(motion) - 9) if motion[place : place + 2] == b"\xff\xc0"]
    for size in (8192, 16_384, 65_500):
        for name, chosen in (("all", places), ("a later one", places[2:3])):
            content = bytearray(motion)
            for place in chosen:
                content[place + 5 : place + 9] = struct.pack(">HH", size, size)
            yield f"{size} x {size}, {name}", bytes(content)


def _compressed(content: bytes, said: int) -> bytes:
    packed = box(b"dcom", b"zlib") + box(b"cmvd", struct.pack(">I", said) + zlib.compress(content, 9))
    return HEAD + box(b"moov", box(b"cmov", packed))


def _of(data: bytes, element: Element) -> bytes:
    return data[element.start : element.end]
