from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from touchline.media.child.boxes import WrittenFile, check_whole, check_written, inspect_written, walk_boxes
from touchline.media.child.channel import InputRefused
from touchline.media.model import ContainerFormat, MediaFailure

SEGMENT = b"\x18\x53\x80\x67"
EBML = b"\x1a\x45\xdf\xa3\x84\0\0\0\0"


def box(kind: bytes, content: bytes = b"", length: int | None = None) -> bytes:
    return struct.pack(">I4s", 8 + len(content) if length is None else length, kind) + content


def long_box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I4sQ", 1, kind, 16 + len(content)) + content


MP4 = box(b"ftyp", b"isom") + box(b"moov", bytes(20)) + box(b"mdat", bytes(100))


def check(path: Path, content: bytes, kind: ContainerFormat) -> None:
    path.write_bytes(content)
    with path.open("rb") as file:
        check_whole(file.fileno(), kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (ContainerFormat.MP4, MP4),
        (ContainerFormat.MP4, box(b"ftyp") + long_box(b"mdat", bytes(50)) + box(b"moov")),
        (ContainerFormat.MP4, box(b"moov") + box(b"mdat", bytes(50), length=0)),
        (ContainerFormat.MP4, MP4 + b"\0\0"),
        (ContainerFormat.MP4, MP4 + box(b"free", b"", length=5000)),
        (ContainerFormat.MP4, MP4 + bytes(40)),
        (ContainerFormat.QUICKTIME, box(b"wide") + box(b"mdat", bytes(9)) + box(b"moov")),
        (ContainerFormat.MATROSKA, EBML + SEGMENT + b"\x85" + bytes(5)),
        (ContainerFormat.MATROSKA, EBML + SEGMENT + b"\x01\xff\xff\xff\xff\xff\xff\xff" + bytes(5)),
        (ContainerFormat.WEBM, EBML + SEGMENT + b"\x40\x05" + bytes(5)),
        (ContainerFormat.AVI, b"RIFF" + struct.pack("<I", 24) + b"AVI " + bytes(20)),
        (ContainerFormat.MPEG_TS, b""),
    ],
)
def test_whole_files(kind: ContainerFormat, content: bytes, tmp_path: Path) -> None:
    check(tmp_path / "file", content, kind)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (ContainerFormat.MP4, MP4[:-1]),
        (ContainerFormat.MP4, MP4[:30]),
        (ContainerFormat.MP4, box(b"ftyp", b"isom")),
        (ContainerFormat.MP4, box(b"ftyp") + long_box(b"mdat", bytes(50))[:-1]),
        (ContainerFormat.MP4, box(b"moov") + box(b"moof") + box(b"mdat", bytes(9), length=99)),
        (ContainerFormat.MATROSKA, EBML),
        (ContainerFormat.MATROSKA, EBML + SEGMENT + b"\x86" + bytes(5)),
        (ContainerFormat.WEBM, EBML[:5]),
        (ContainerFormat.AVI, b"RIFF" + struct.pack("<I", 25) + b"AVI " + bytes(20)),
    ],
)
def test_files_without_their_end(kind: ContainerFormat, content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputRefused) as raised:
        check(tmp_path / "file", content, kind)
    assert raised.value.failure is MediaFailure.TRUNCATED


@given(st.binary(max_size=300), st.sampled_from(list(ContainerFormat)))
def test_any_bytes_come_to_an_end(content: bytes, kind: ContainerFormat) -> None:
    descriptor = os.memfd_create("content")
    try:
        os.write(descriptor, content)
        with suppress(InputRefused):
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


def look(path: Path, content: bytes) -> WrittenFile:
    path.write_bytes(content)
    with path.open("rb") as file:
        return inspect_written(file.fileno())


def test_what_we_wrote_ends_where_its_last_box_does(tmp_path: Path) -> None:
    whole = box(b"moof", bytes(10)) + box(b"mdat", bytes(100))
    assert check_written(look(tmp_path / "segment", whole), b"mdat") == len(whole)
    for broken in (b"", whole[:-1], whole[:18]):
        with pytest.raises(InputRefused) as raised:
            check_written(look(tmp_path / "segment", broken), b"mdat")
        assert raised.value.failure is MediaFailure.STORAGE
