"""What a probe need not have of a file, by its first bytes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from touchline.media.tasks import HEAD_BYTES, unprobed_range

FTYP = struct.pack(">I4s4s", 12, b"ftyp", b"isom")
LONG = 2 * HEAD_BYTES


def header(kind: bytes, length: int) -> bytes:
    return struct.pack(">I4s", length, kind)


@pytest.mark.parametrize(
    ("case", "head", "size_bytes", "expected"),
    [
        ("samples, then the index", FTYP + header(b"mdat", LONG), 12 + LONG + 500, range(HEAD_BYTES, 12 + LONG)),
        ("the index first", FTYP + header(b"moov", 8) + header(b"mdat", LONG), 20 + LONG, range(HEAD_BYTES, 20 + LONG)),
        ("a length of 64 bits", FTYP + header(b"mdat", 1) + LONG.to_bytes(8), 12 + LONG, range(HEAD_BYTES, 12 + LONG)),
        ("up to the end", FTYP + header(b"mdat", 0), LONG, range(HEAD_BYTES, LONG)),
        ("short", FTYP + header(b"mdat", 100), 112, None),
        ("ends with the head", FTYP + header(b"mdat", HEAD_BYTES - 12), HEAD_BYTES, None),
        ("samples that are cut off", FTYP + header(b"mdat", LONG), LONG, None),
        ("an index across the head", FTYP + header(b"moov", LONG), 12 + LONG, None),
        ("no MP4", header(b"mdat", LONG), LONG, None),
        ("nothing", b"", 0, None),
    ],
)
def test_what_is_not_read(case: str, head: bytes, size_bytes: int, expected: range | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w+b") as file:
        file.write(head)
        file.truncate(size_bytes)
        file.flush()
        assert unprobed_range(file.fileno()) == expected, case


def test_fragments_behind_the_head_are_read(tmp_path: Path) -> None:
    """One of them may be cut off."""
    fragment = header(b"mdat", HEAD_BYTES // 4)
    with (tmp_path / "file").open("w+b") as file:
        file.write(FTYP)
        for number in range(8):
            file.seek(12 + number * HEAD_BYTES // 4)
            file.write(fragment)
        file.truncate(12 + LONG)
        file.flush()
        found = unprobed_range(file.fileno())
    assert found == range(HEAD_BYTES, 12 + HEAD_BYTES)
