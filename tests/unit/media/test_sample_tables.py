"""Tables of an index: what is told is what the libraries read, and whatever is written there, nothing else is told."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import av
import pytest
from hypothesis import given, strategies as st

from tests.support import videos
from tests.support.hostile.elements import box
from tests.support.videos import Recipe, Studio
from touchline.media.child.fast_path import TrackSamples, read_samples


def read(content: bytes, path: Path) -> dict[int, TrackSamples]:
    path.write_bytes(content)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read_samples(descriptor, range(10))
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("recipe", [videos.SMALL, videos.UNEVEN, videos.QUICKTIME], ids=lambda recipe: recipe.name)
def test_they_tell_what_the_libraries_read(recipe: Recipe, tmp_path: Path) -> None:
    path = Studio(tmp_path).make(recipe)
    found = read(path.read_bytes(), tmp_path / "copy.mp4")
    with av.open(str(path)) as container:
        packets = [packet for packet in container.demux() if packet.size]
        for stream in container.streams:
            own = [packet for packet in packets if packet.stream_index == stream.index]
            samples = found[stream.id]
            assert samples.offsets.tolist() == [packet.pos for packet in own]
            assert samples.sizes.tolist() == [packet.size for packet in own]
            assert samples.is_key.tolist() == [packet.is_keyframe for packet in own]
            shift = own[0].dts or 0
            assert (samples.decoded + shift).tolist() == [packet.dts for packet in own]
            assert (samples.shown + shift).tolist() == [packet.pts for packet in own]


def numbers(kind: bytes, *values: int) -> bytes:
    return box(kind, struct.pack(f">{len(values) + 1}I", 0, *values))


PLAIN = {
    b"stsd": numbers(b"stsd", 1),
    b"stts": numbers(b"stts", 1, 3, 512),
    b"stsz": numbers(b"stsz", 0, 3, 10, 20, 30),
    b"stsc": numbers(b"stsc", 2, 1, 2, 1, 2, 1, 1),
    b"stco": numbers(b"stco", 2, 8, 100),
    b"stss": numbers(b"stss", 1, 1),
}


def movie(tables: dict[bytes, bytes]) -> bytes:
    inside = box(b"mdia", box(b"minf", box(b"stbl", b"".join(tables.values()))))
    track = box(b"trak", box(b"tkhd", struct.pack(">IIII", 0, 0, 0, 7) + bytes(68)) + inside)
    return box(b"mdat", bytes(300)) + box(b"moov", track)


def test_a_table_that_a_person_can_check(tmp_path: Path) -> None:
    [(number, samples)] = read(movie(PLAIN), tmp_path / "plain.mp4").items()
    assert number == 7
    assert samples.offsets.tolist() == [8, 18, 100]
    assert samples.decoded.tolist() == samples.shown.tolist() == [0, 512, 1024]
    assert samples.is_key.tolist() == [True, False, False]


@pytest.mark.parametrize(
    "table",
    [
        numbers(b"stsd", 2),
        numbers(b"stts", 1, 4, 512),
        numbers(b"stts", 1, 2, 512),
        numbers(b"stts", 2, 3, 512),
        numbers(b"stts", 0xFFFFFFFF, 3, 512),
        numbers(b"stsz", 0, 4, 10, 20, 30),
        numbers(b"stsz", 0, 3, 10, 0, 30),
        numbers(b"stsz", 0, 3, 10, 20, 1000),
        numbers(b"stsz", 100, 0x7FFFFFFF),
        numbers(b"stsz", 0, 0),
        numbers(b"stsc", 1, 1, 1, 1),
        numbers(b"stsc", 1, 2, 2, 1),
        numbers(b"stsc", 2, 1, 2, 1, 9, 1, 1),
        numbers(b"stsc", 2, 1, 0xFFFFFFFF, 1, 2, 1, 1),
        numbers(b"stco", 2, 8, 5000),
        numbers(b"stco", 9, 8, 100),
        b"",
    ],
    ids=lambda table: table[4:].hex(" ", 4) or "none",
)
def test_odd_tables_tell_nothing(table: bytes, tmp_path: Path) -> None:
    kind = table[4:8] or b"stts"
    assert read(movie(PLAIN | {kind: table}), tmp_path / "odd.mp4") == {}


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=8))
def test_whatever_is_written_there_lies_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    content = bytearray(movie(PLAIN))
    for place, value in changes:
        content[308 + place % (len(content) - 308)] = value
    for samples in read(bytes(content), tmp_path_factory.getbasetemp() / "changed.mp4").values():
        assert len(samples) == len(samples.offsets) == len(samples.decoded) == len(samples.shown) == len(samples.is_key)
        assert samples.offsets.min() >= 0
        assert int((samples.offsets + samples.sizes).max()) <= len(content)
        assert int(samples.sizes.sum()) <= len(content)
