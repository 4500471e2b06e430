from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.media.child.failures import Refused
from touchline.media.child.sniffing import DEMUXERS, sniff
from touchline.media.model import Failure, Format

PACKET = b"\x47" + bytes(187)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"\0\0\0\x20ftypisom", Format.MP4),
        (b"\0\0\0\x20ftypM4V ", Format.MP4),
        (b"\0\0\0\x14ftypqt  ", Format.QUICKTIME),
        (b"\0\0\0\x08wide\0\0\0\0mdat", Format.QUICKTIME),
        (b"\0\0\x10\0moov", Format.QUICKTIME),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", Format.WEBM),
        (b"\x1a\x45\xdf\xa3\xa3\x42\x82\x88matroska", Format.MATROSKA),
        (b"RIFF\0\0\0\0AVI LIST", Format.AVI),
        (b"FLV\x01\x05", Format.FLASH),
        (b"OggS\0\x02", Format.OGG),
        (b"\0\0\x01\xba\x44", Format.MPEG_PS),
        (bytes.fromhex("3026b2758e66cf11a6d900aa0062ce6c"), Format.WINDOWS_MEDIA),
        (PACKET * 4, Format.MPEG_TS),
        ((b"\0\0\0\0" + PACKET) * 4, Format.MPEG_TS),
    ],
)
def test_a_container_is_known_by_its_first_bytes(head: bytes, kind: Format) -> None:
    assert sniff(head) is kind


@pytest.mark.parametrize(
    ("head", "failure"),
    [
        (b"", Failure.NOT_A_VIDEO),
        (b"\0\0\0\x18ftypheic", Failure.NOT_A_VIDEO),
        (b"\xff\xd8\xff\xe0JFIF", Failure.NOT_A_VIDEO),
        (b"%PDF-1.7", Failure.NOT_A_VIDEO),
        (b"#EXTM3U\n", Failure.NOT_A_VIDEO),
        (b"ffconcat version 1.0\n", Failure.NOT_A_VIDEO),
        (b"[playlist]\n", Failure.NOT_A_VIDEO),
        (b"<?xml version='1.0'?><MPD/>", Failure.NOT_A_VIDEO),
        (b"v=0\no=- 0 0 IN IP4 127.0.0.1\n", Failure.NOT_A_VIDEO),
        (PACKET * 2, Failure.NOT_A_VIDEO),
        (b"ID3\x04\0", Failure.NO_PICTURES),
        (b"fLaC", Failure.NO_PICTURES),
        (b"RIFF\0\0\0\0WAVEfmt ", Failure.NO_PICTURES),
    ],
)
def test_everything_else_is_refused(head: bytes, failure: Failure) -> None:
    with pytest.raises(Refused) as raised:
        sniff(head)
    assert raised.value.failure is failure


@given(st.binary(max_size=1000))
def test_any_bytes_are_a_container_or_refused(head: bytes) -> None:
    with suppress(Refused):
        assert sniff(head) in DEMUXERS


def test_every_container_has_a_demuxer() -> None:
    assert set(DEMUXERS) == set(Format)
