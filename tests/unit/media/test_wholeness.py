from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.media.child.boxes import walk_boxes
from touchline.media.child.failures import Refused
from touchline.media.child.wholeness import Written, check_whole, check_written, look_at
from touchline.media.model import Failure, Format

SEGMENT = b"\x18\x53\x80\x67"
EBML = b"\x1a\x45\xdf\xa3\x84\0\0\0\0"


def box(kind: bytes, content: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack(">I4s", 8 + len(content) if length is None else length, kind) + content


def long_box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4sQ", 1, kind, 16 + len(content)) + content


MP4 = box(b"ftyp", b"isom") + box(b"moov", bytes(20)) + box(b"mdat", bytes(100))


def check(path: Path, content: bytes, kind: Format) -> None:
    path.write_bytes(content)
    with path.open("rb") as file:
        check_whole(file.fileno(), kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (Format.MP4, MP4),
        (Format.MP4, box(b"ftyp") + long_box(b"mdat", bytes(50)) + box(b"moov")),
        (Format.MP4, box(b"moov") + box(b"mdat", bytes(50), length=0)),
        (Format.MP4, MP4 + b"\0\0"),
        (Format.MP4, MP4 + box(b"free", b"", length=5000)),
        (Format.MP4, MP4 + bytes(40)),
        (Format.QUICKTIME, box(b"wide") + box(b"mdat", bytes(9)) + box(b"moov")),
        (Format.MATROSKA, EBML + SEGMENT + b"\x85" + bytes(5)),
        (Format.MATROSKA, EBML + SEGMENT + b"\x01\xff\xff\xff\xff\xff\xff\xff" + bytes(5)),
        (Format.WEBM, EBML + SEGMENT + b"\x40\x05" + bytes(5)),
        (Format.AVI, b"RIFF" + struct.pack("<I", 24) + b"AVI " + bytes(20)),
        (Format.MPEG_TS, b""),
    ],
)
def test_whole_files(kind: Format, content: bytes, tmp_path: Path) -> None:
    check(tmp_path / "file", content, kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (Format.MP4, MP4[:-1]),
        (Format.MP4, MP4[:30]),
        (Format.MP4, box(b"ftyp", b"isom")),
        (Format.MP4, box(b"ftyp") + long_box(b"mdat", bytes(50))[:-1]),
        (Format.MP4, box(b"moov") + box(b"moof") + box(b"mdat", bytes(9), length=99)),
        (Format.MATROSKA, EBML),
        (Format.MATROSKA, EBML + SEGMENT + b"\x86" + bytes(5)),
        (Format.WEBM, EBML[:5]),
        (Format.AVI, b"RIFF" + struct.pack("<I", 25) + b"AVI " + bytes(20)),
    ],
)
def test_files_without_their_end(kind: Format, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(Refused) as raised:
        check(tmp_path / "file", content, kind)
    assert raised.value.failure is Failure.TRUNCATED


@given(st.binary(max_size=300), st.sampled_from(list(Format)))
def test_any_bytes_come_to_an_end(content: bytes, kind: Format) -> None:
    descriptor = os.memfd_create("content")
    try:
        os.write(descriptor, content)
        with suppress(Refused):
            check_whole(descriptor, kind)
    finally:
        os.close(descriptor)


@given(st.binary(max_size=500))
def test_the_walk_goes_forward(content: bytes) -> None:
    descriptor = os.memfd_create("content")
    try:
        os.write(descriptor, content)
        ends = [end for _, end in walk_boxes(descriptor)]
        assert ends == sorted(set(ends))
        assert all(end >= 8 for end in ends)
    finally:
        os.close(descriptor)


def look(path: Path, content: bytes) -> Written:
    path.write_bytes(content)
    with path.open("rb") as file:
        return look_at(file.fileno())


def test_what_we_wrote_ends_where_its_last_box_does(tmp_path: Path) -> None:
    whole = box(b"moof", bytes(10)) + box(b"mdat", bytes(100))
    assert check_written(look(tmp_path / "segment", whole), b"mdat") == len(whole)
    for broken in (b"", whole[:-1], whole[:18]):
        with pytest.raises(Refused) as raised:
            check_written(look(tmp_path / "segment", broken), b"mdat")
        assert raised.value.failure is Failure.STORAGE
