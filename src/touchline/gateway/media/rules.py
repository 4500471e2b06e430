"""Which object a name under an artifact stands for, what it is, and which bytes of it were asked for. Pure.

Invariant: no name leaves the artifact's own prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from touchline.kernel.errors import InvalidInput, NotFound, Unavailable
from touchline.kernel.ids import ArtifactHash, video_id
from touchline.media.model import POSTER_WIDTHS, smaller_poster
from touchline.platform.objects.rules import ByteRange
from touchline.process.sampling.rules import PICTURE_TYPE, frame_key
from touchline.process.videos.queries import FrameName

MANIFEST = "index.m3u8"
POSTER = "poster.jpg"
CLIP = "clip.mp4"  # a clip as a whole; no rendition has a file of this name
PLAYLIST_SUFFIX = ".m3u8"
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
_FRAME = re.compile(r"frames/(0|[1-9][0-9]{0,8})/((?:0|[1-9][0-9]{0,14})\.jpg)", re.ASCII)
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class File:
    key: str
    content_type: str
    cache_control: str
    download_name: str = ""  # it is taken away, not shown


def frame_name(frame: FrameName) -> str:
    return f"frames/{frame.attempt}/{frame.timestamp_ms}.jpg"


def frame_of(name: str, artifact_hash: ArtifactHash) -> File | None:
    """A sampled picture of this artifact; None for the name of anything else."""
    match = _FRAME.fullmatch(name)
    key = match and frame_key(video_id(artifact_hash), int(match[1]), match[2])
    return File(key, PICTURE_TYPE, IMMUTABLE_CACHE) if key else None


@dataclass(frozen=True, slots=True)
class Keys:
    """Where the named parts of an artifact lie; everything else is in the folder of its manifest."""

    manifest: str
    poster: str
    clip: str = ""


def file_of(name: str, keys: Keys, title: str = "") -> File:
    match = _NAME.fullmatch(name)
    content_type = CONTENT_TYPES.get(match[1]) if match else None
    if match is None or content_type is None:
        raise no_such_file()
    cache = PLAYLIST_CACHE if match[1] == PLAYLIST_SUFFIX else IMMUTABLE_CACHE
    return File(_key(name, keys), content_type, cache, f"{title or 'clip'}.mp4" if name == CLIP else "")


def narrower(poster: File, width: int) -> File | None:
    """The poster at least so wide, of those that are made; None where only the poster itself is."""
    made = next((each for each in POSTER_WIDTHS if each >= width), None)
    return replace(poster, key=smaller_poster(poster.key, made)) if made else None


def _key(name: str, keys: Keys) -> str:
    named = {MANIFEST: keys.manifest, POSTER: keys.poster, CLIP: keys.clip}
    key = named.get(name, f"{keys.manifest.rpartition('/')[0]}/{name}")
    if not key:
        raise no_such_file()
    return key


def no_such_file() -> NotFound:
    return NotFound("there is no such file", hint="Follow the names in the playlist.")


def file_is_gone() -> NotFound:
    hint = "An administrator sees with `touchline scan` and `touchline doctor` what else is missing."
    return NotFound("the file of this video is gone", why="the object store no longer has it", hint=hint)


def file_is_unreadable() -> Unavailable:
    hint = "Try again. An administrator sees with `touchline doctor` what is wrong with the object store."
    return Unavailable("the file of this video cannot be read", why="the object store lists it and fails", hint=hint)


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
