from __future__ import annotations

import struct
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.hostile.elements import box
from touchline.media.child.boxes import longest_claim_s

UNKNOWN = 0xFFFFFFFF


def header(kind: bytes, unit: int, ticks: int) -> bytes:
    return box(kind, struct.pack(">IIIII", 0, 1, 2, unit, ticks) + bytes(8))


def long_header(kind: bytes, unit: int, ticks: int) -> bytes:
    return box(kind, struct.pack(">IQQIQ", 1 << 24, 1, 2, unit, ticks) + bytes(8))


def movie(*parts: bytes) -> bytes:
    return box(b"ftyp", b"isom") + box(b"free", bytes(100)) + box(b"moov", b"".join(parts))


def track(head: bytes) -> bytes:
    return box(b"trak", box(b"tkhd", bytes(84)) + box(b"mdia", head + box(b"minf", bytes(8))))


@pytest.mark.parametrize(
    ("content", "seconds"),
    [
        (b"", 0),
        (b"no boxes at all", 0),
        (box(b"ftyp", b"isom"), 0),
        (movie(), 0),
        (movie(header(b"mvhd", 1000, 6040)), Fraction(604, 100)),
        (movie(header(b"mvhd", 0, 6040)), 0),
        (movie(header(b"mvhd", 1000, UNKNOWN)), 0),
        (movie(long_header(b"mvhd", 1000, 2**64 - 1)), 0),
        (movie(long_header(b"mvhd", 1, 10**12)), 10**12),
        (movie(header(b"mvhd", 1000, 1000), track(header(b"mdhd", 90_000, 180_000))), 2),
        (movie(header(b"mvhd", 1, 10), track(header(b"mdhd", 1, 3)), track(long_header(b"mdhd", 1, 20))), 20),
        (movie(header(b"mvhd", 1, 10)) + movie(header(b"mvhd", 1, 99)), 10),
        (movie(header(b"mvhd", 1, 10)[:14]), 0),
    ],
)
def test_the_longest_claim(content: bytes, seconds: Fraction, tmp_path: Path) -> None:
    path = tmp_path / "movie.mp4"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert longest_claim_s(file.fileno()) == seconds
