"""Names and types of what a transcode leaves behind, and how far it is. Pure."""

from __future__ import annotations

import re
from enum import Enum
from uuid import UUID

from touchline.platform.objects.keys import ObjectKey, join_key, object_key

MANIFEST = "index.m3u8"
POSTER = "poster.jpg"
PLAYLIST_TYPE = "application/vnd.apple.mpegurl"
POSTER_TYPE = "image/jpeg"

CONTENT_TYPES = {
    ".m3u8": PLAYLIST_TYPE,
    ".ts": "video/mp2t",
    ".m4s": "video/iso.segment",
    ".mp4": "video/mp4",
    ".jpg": POSTER_TYPE,
    ".vtt": "text/vtt",
}

_SIZE = re.compile(r"^#EXT-X-STREAM-INF:.*?RESOLUTION=(\d+)x(\d+).*\n(\S+)$", re.MULTILINE)
_URI = re.compile(r'(URI=")([^"]+)(")')


class Stage(Enum):
    """The share of the whole that a part of the work takes, in percent: from, to."""

    FETCH = (0, 10)
    MAKE = (10, 80)
    UPLOAD = (80, 90)
    STORYBOARD = (90, 99)

    def percent(self, share: float) -> int:
        start, stop = self.value
        return int(start + (stop - start) * min(max(share, 0.0), 1.0))


def proxy_key(video_id: UUID, attempt: int, path: str) -> ObjectKey:
    return join_key("videos", "proxy", str(video_id), str(attempt), *path.split("/"))


def poster_key(video_id: UUID, attempt: int, name: str = POSTER) -> ObjectKey:
    return join_key("thumbs", str(video_id), str(attempt), name)


def attempt_prefixes(video_id: UUID, attempt: int) -> tuple[ObjectKey, ObjectKey]:
    """Everything that one attempt may have stored."""
    return (
        join_key("videos", "proxy", str(video_id), str(attempt)),
        join_key("thumbs", str(video_id), str(attempt)),
    )


def fixed_manifest_key(video_id: UUID) -> ObjectKey:
    return join_key("videos", "proxy", str(video_id), MANIFEST)


def fixed_poster_key(video_id: UUID) -> ObjectKey:
    return join_key("thumbs", str(video_id), POSTER)


def content_type(path: str) -> str:
    _, dot, ending = path.rpartition(".")
    return CONTENT_TYPES.get(dot + ending, "application/octet-stream")


def shown_by(master: str) -> tuple[int, int, str]:
    """Width, height and playlist of the best rendition in a master playlist of ours."""
    renditions = ((int(width), int(height), playlist) for width, height, playlist in _SIZE.findall(master))
    return max(renditions, key=lambda each: each[0] * each[1])


def pointing_playlist(playlist: str, folder: str) -> str:
    """The same playlist, to be read one level above the folder in which it lies."""
    object_key(folder)
    return "\n".join(_pointing_line(line, folder) for line in playlist.splitlines()) + "\n"


def _pointing_line(line: str, folder: str) -> str:
    if line.startswith("#"):
        return _URI.sub(rf"\g<1>{folder}/\g<2>\g<3>", line)
    return f"{folder}/{line}" if line.strip() else line
