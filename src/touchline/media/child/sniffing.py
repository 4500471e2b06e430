"""Which container a file is, by its first bytes. The demuxer is then forced: a text that calls itself a playlist,
a list of files or a script never reaches one that would follow it.
"""

from __future__ import annotations

from touchline.media.model import Failure, Format

from .failures import Refused

HEAD_BYTES = 4096
DEMUXERS = {
    Format.MP4: "mov",
    Format.QUICKTIME: "mov",
    Format.MATROSKA: "matroska",
    Format.WEBM: "matroska",
    Format.AVI: "avi",
    Format.MPEG_TS: "mpegts",
    Format.MPEG_PS: "mpeg",
    Format.FLASH: "flv",
    Format.OGG: "ogg",
    Format.WINDOWS_MEDIA: "asf",
}
_QUICKTIME_BOXES = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_PICTURE_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"mif1", b"avif", b"avis", b"crx "})
_SIGNATURES = (
    (b"\x1a\x45\xdf\xa3", Format.MATROSKA),
    (b"\x00\x00\x01\xba", Format.MPEG_PS),
    (b"FLV\x01", Format.FLASH),
    (b"OggS", Format.OGG),
    (bytes.fromhex("3026b2758e66cf11"), Format.WINDOWS_MEDIA),
)
_SOUND = (b"ID3", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")


def sniff(head: bytes) -> Format:
    found = _boxed(head) or _riff(head) or _signed(head) or _transport_stream(head)
    if found:
        return found
    if head.startswith(_SOUND) or (head[:4] == b"RIFF" and head[8:12] == b"WAVE"):
        raise Refused(Failure.NO_PICTURES, "it is a sound file")
    if not head:
        raise Refused(Failure.NOT_A_VIDEO, "the file is empty")
    raise Refused(Failure.NOT_A_VIDEO, "its first bytes are those of no video container that we know")


def _boxed(head: bytes) -> Format | None:
    kind, brand = head[4:8], head[8:12]
    if kind == b"ftyp":
        if brand in _PICTURE_BRANDS:
            raise Refused(Failure.NOT_A_VIDEO, "it is a still picture")
        return Format.QUICKTIME if brand == b"qt  " else Format.MP4
    return Format.QUICKTIME if kind in _QUICKTIME_BOXES else None


def _riff(head: bytes) -> Format | None:
    return Format.AVI if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def _signed(head: bytes) -> Format | None:
    found = next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
    return Format.WEBM if found is Format.MATROSKA and b"webm" in head[:64] else found


def _transport_stream(head: bytes) -> Format | None:
    """A sync byte every 188 bytes, or every 192 behind a time stamp."""
    for first, distance in ((0, 188), (4, 192)):
        marks = head[first : first + 4 * distance : distance]
        if len(marks) == 4 and set(marks) == {0x47}:
            return Format.MPEG_TS
    return None
