"""The keys of what a transcode stores, its playlists, and how far the job is. Pure."""

from __future__ import annotations

import re
from uuid import UUID

from touchline.platform.objects.rules import ObjectKey, join_key, object_key
from touchline.process.queue.rules import ProgressStage

MANIFEST = "index.m3u8"
POSTER = "poster.jpg"
_SIZE = re.compile(r"^#EXT-X-STREAM-INF:.*?RESOLUTION=(\d+)x(\d+).*\n(\S+)$", re.MULTILINE)
_URI = re.compile(r'(URI=")([^"]+)(")')


class TranscodeStage(ProgressStage):
    FETCH = (0, 10)
    MAKE = (10, 80)
    UPLOAD = (80, 90)
    STORYBOARD = (90, 99)


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


def best_rendition(master: str) -> tuple[int, int, str]:
    """Width, height and playlist of the best rendition in one of our master playlists."""
    renditions = ((int(width), int(height), playlist) for width, height, playlist in _SIZE.findall(master))
    return max(renditions, key=lambda each: each[0] * each[1])


def fixed_playlist(playlist: str, folder: str) -> str:
    """The same playlist, to be read one level above the folder in which it is stored."""
    object_key(folder)
    return "\n".join(_fixed_playlist_line(line, folder) for line in playlist.splitlines()) + "\n"


def _fixed_playlist_line(line: str, folder: str) -> str:
    if line.startswith("#"):
        return _URI.sub(rf"\g<1>{folder}/\g<2>\g<3>", line)
    return f"{folder}/{line}" if line.strip() else line
