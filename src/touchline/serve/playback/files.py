"""The names of an artifact's files in media addresses, what they are, and which bytes of one were asked for. Pure.

Invariant: no name leaves the artifact's own folder: nothing with a leading dot, a backslash or a percent sign is one.
"""

from __future__ import annotations

import re

from touchline.kernel import InvalidInput, NotFound
from touchline.platform.objects.rules import ByteRange

MANIFEST = "index.m3u8"
POSTER = "poster.jpg"
CLIP = "clip.mp4"  # a clip as a whole; no rendition has a file of this name
PLAYLIST_SUFFIX = ".m3u8"
SEGMENT_SUFFIXES = (".m4s", ".ts")
CONTENT_TYPES = {
    ".m3u8": "application/vnd.apple.mpegurl",
    ".ts": "video/mp2t",
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".vtt": "text/vtt; charset=utf-8",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
}
# A playlist may be written again when another rendition is there; everything else under an attempt never changes.
PLAYLIST_CACHE = "private, no-cache"
IMMUTABLE_CACHE = "private, max-age=31536000, immutable"

_SEGMENT = r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}"
_NAME = re.compile(rf"(?:{_SEGMENT}/){{0,2}}{_SEGMENT}(\.[a-z0-9]{{2,4}})", re.ASCII)
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


def content_type_of(name: str) -> str | None:
    """None: no file of an artifact has such a name."""
    match = _NAME.fullmatch(name)
    return CONTENT_TYPES.get(match[1]) if match else None


def is_segment(name: str) -> bool:
    """A piece of the film itself, without its headers."""
    return name.endswith(SEGMENT_SUFFIXES)


def cache_control_of(name: str) -> str:
    return PLAYLIST_CACHE if name.endswith(PLAYLIST_SUFFIX) else IMMUTABLE_CACHE


def no_such_file() -> NotFound:
    return NotFound("there is no such file", hint="Use the file names from the playlist.")


def wanted_bytes(header: str | None, size_bytes: int) -> ByteRange | None:
    """The range of a Range header; None for the whole. InvalidInput when there is nothing of it.

    What is no single range of bytes is answered with the whole, as RFC 9110 allows.
    """
    match = _RANGE.fullmatch(header.strip()) if header else None
    if match is None or match[1] == match[2] == "":
        return None
    if not match[1]:
        start, stop = max(size_bytes - int(match[2]), 0), size_bytes
    else:
        start, stop = int(match[1]), min(int(match[2]) + 1, size_bytes) if match[2] else size_bytes
        if match[2] and int(match[2]) < start:
            return None
    if start >= size_bytes or start >= stop:
        raise InvalidInput("the file ends before this range", field="range", why=f"it has {size_bytes} bytes")
    return ByteRange(start, stop)
