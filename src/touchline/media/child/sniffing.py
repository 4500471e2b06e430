"""Which container a file is, by its first bytes. The demuxer is then forced: a text that calls itself a playlist,
a list of files or a script never reaches one that would follow it.
"""

from __future__ import annotations

from touchline.media.model import ContainerFormat, MediaFailure

from .failures import InputRefused

HEAD_BYTES = 4096
DEMUXERS = {
    ContainerFormat.MP4: "mov",
    ContainerFormat.QUICKTIME: "mov",
    ContainerFormat.MATROSKA: "matroska",
    ContainerFormat.WEBM: "matroska",
    ContainerFormat.AVI: "avi",
    ContainerFormat.MPEG_TS: "mpegts",
    ContainerFormat.MPEG_PS: "mpeg",
    ContainerFormat.FLASH: "flv",
    ContainerFormat.OGG: "ogg",
    ContainerFormat.WINDOWS_MEDIA: "asf",
}
_QUICKTIME_BOXES = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_PICTURE_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"mif1", b"avif", b"avis", b"crx "})
_SIGNATURES = (
    (b"\x1a\x45\xdf\xa3", ContainerFormat.MATROSKA),
    (b"\x00\x00\x01\xba", ContainerFormat.MPEG_PS),
    (b"FLV\x01", ContainerFormat.FLASH),
    (b"OggS", ContainerFormat.OGG),
    (bytes.fromhex("3026b2758e66cf11"), ContainerFormat.WINDOWS_MEDIA),
)
_SOUND = (b"ID3", b"fLaC", b"\xff\xfb", b"\xff\xf3", b"\xff\xf1", b"\xff\xf9")


def sniff(head: bytes) -> ContainerFormat:
    found = _boxed(head) or _riff(head) or _signed(head) or _transport_stream(head)
    if found:
        return found
    if head.startswith(_SOUND) or (head[:4] == b"RIFF" and head[8:12] == b"WAVE"):
        raise InputRefused(MediaFailure.NO_PICTURES, "it is a sound file")
    if not head:
        raise InputRefused(MediaFailure.NOT_A_VIDEO, "the file is empty")
    raise InputRefused(MediaFailure.NOT_A_VIDEO, "its first bytes are those of no video container that we know")


def _boxed(head: bytes) -> ContainerFormat | None:
    kind, brand = head[4:8], head[8:12]
    if kind == b"ftyp":
        if brand in _PICTURE_BRANDS:
            raise InputRefused(MediaFailure.NOT_A_VIDEO, "it is a still picture")
        return ContainerFormat.QUICKTIME if brand == b"qt  " else ContainerFormat.MP4
    return ContainerFormat.QUICKTIME if kind in _QUICKTIME_BOXES else None


def _riff(head: bytes) -> ContainerFormat | None:
    return ContainerFormat.AVI if head[:4] == b"RIFF" and head[8:12] == b"AVI " else None


def _signed(head: bytes) -> ContainerFormat | None:
    found = next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)
    return ContainerFormat.WEBM if found is ContainerFormat.MATROSKA and b"webm" in head[:64] else found


def _transport_stream(head: bytes) -> ContainerFormat | None:
    """A sync byte every 188 bytes, or every 192 behind a time stamp."""
    for first, distance in ((0, 188), (4, 192)):
        marks = head[first : first + 4 * distance : distance]
        if len(marks) == 4 and set(marks) == {0x47}:
            return ContainerFormat.MPEG_TS
    return None
