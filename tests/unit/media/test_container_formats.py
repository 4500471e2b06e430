from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from touchline.media.child.channel import InputRefused
from touchline.media.child.source import DEMUXERS, sniff
from touchline.media.model import ContainerFormat, MediaFailure

PACKET = b"\x47" + bytes(187)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\0\0\0\x20ftypisom", ContainerFormat.MP4),
        (b"\0\0\0\x20ftypM4V ", ContainerFormat.MP4),
        (b"\0\0\0\x14ftypqt  ", ContainerFormat.QUICKTIME),
        (b"\0\0\0\x08wide\0\0\0\0mdat", ContainerFormat.QUICKTIME),
        (b"\0\0\x10\0moov", ContainerFormat.QUICKTIME),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", ContainerFormat.WEBM),
        (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", ContainerFormat.MATROSKA),
        (b"RIFF\0\0\0\0AVI LIST", ContainerFormat.AVI),
        (b"FLV\x01\x05", ContainerFormat.FLASH),
        (b"OggS\0\x02", ContainerFormat.OGG),
        (b"\0\0\x01\xba\x44", ContainerFormat.MPEG_PS),
        (bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"), ContainerFormat.WINDOWS_MEDIA),
        (PACKET * 4, ContainerFormat.MPEG_TS),
        ((b"\0\0\0\0" + PACKET) * 4, ContainerFormat.MPEG_TS),
    ],
)
def test_a_container_is_known_by_its_first_bytes(head: bytes, kind: ContainerFormat) -> None:
    assert sniff(head) is kind


@pytest.mark.parametrize(
    ("head", "failure"),
    [
        (b"", MediaFailure.NOT_A_VIDEO),
        (b"\0\0\0\x18ftypheic", MediaFailure.NOT_A_VIDEO),
        (b"\xff\xd8\xff\xe0JFIF", MediaFailure.NOT_A_VIDEO),
        (b"%PDF-1.7", MediaFailure.NOT_A_VIDEO),
        (b"#EXTM3U\n", MediaFailure.NOT_A_VIDEO),
        (b"ffconcat version 1.0\n", MediaFailure.NOT_A_VIDEO),
        (b"[playlist]\n", MediaFailure.NOT_A_VIDEO),
        (b"<?xml version='1.0'?><MPD/>", MediaFailure.NOT_A_VIDEO),
        (b"v=0\no=- 0 0 IN IP4 127.0.0.1\n", MediaFailure.NOT_A_VIDEO),
        (PACKET * 2, MediaFailure.NOT_A_VIDEO),
        (b"ID3\x04\0", MediaFailure.NO_PICTURES),
        (b"fLaC", MediaFailure.NO_PICTURES),
        (b"RIFF\0\0\0\0WAVEfmt ", MediaFailure.NO_PICTURES),
    ],
)
def test_everything_else_is_refused(head: bytes, failure: MediaFailure) -> None:
    with pytest.raises(InputRefused) as raised:
        sniff(head)
    assert raised.value.failure is failure


@given(st.binary(max_size=1000))
def test_any_bytes_are_a_container_or_refused(head: bytes) -> None:
    with suppress(InputRefused):
        assert sniff(head) in DEMUXERS


def test_every_container_has_a_demuxer() -> None:
    assert set(DEMUXERS) == set(ContainerFormat)
