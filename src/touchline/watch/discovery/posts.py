"""Links to posts, and the videos behind them. Pure.

Invariant: a post id is digits only, at least 18 of them; what is shorter was cut off somewhere and names nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from .rules import FoundVideo

MOST_VIDEOS = 10  # of one post
_ID = re.compile(r"[0-9]{18,25}", re.ASCII)
_PATH = re.compile(r"/status(?:es)?/([0-9]+)(?:/video/([0-9]{1,2}))?/?$", re.ASCII)
_PREFIXES = ("www.", "mobile.", "m.")


@dataclass(frozen=True, slots=True)
class PostLink:
    post_id: str
    video_index: int | None  # None: the link is to the whole post


def is_post_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def read_link(url: str, hosts: Sequence[str]) -> PostLink | None:
    """With `/video/2`, `?s=20` and the like behind it; None for everything that is not a post of these hosts."""
    host, link = _read(url)
    return link if host in hosts else None


def stranger(url: str, hosts: Sequence[str]) -> str | None:
    """The host of a link that would be one to a post, if only the host were known."""
    host, link = _read(url)
    return host if link and host not in hosts else None


def _read(url: str) -> tuple[str, PostLink | None]:
    try:
        parts = urlsplit(url.strip())
        host = _bare(parts.netloc.rpartition("@")[2].lower())
    except ValueError:
        return "", None
    match = _PATH.search(parts.path)
    if parts.scheme not in {"http", "https"} or not match or not is_post_id(match[1]):
        return host, None
    index = int(match[2]) if match[2] else None
    return host, PostLink(match[1], index if index is None or 1 <= index <= MOST_VIDEOS else None)


def each_video(found: Iterable[tuple[FoundVideo, int]]) -> Iterator[FoundVideo]:
    """Every video of every post once, although only some of a post's were told. With each comes how many there are."""
    told = dict[tuple[str, int], FoundVideo]()
    counts = dict[str, tuple[FoundVideo, int]]()
    for video, count in found:
        told.setdefault((video.post_id, video.video_index), video)
        counts.setdefault(video.post_id, (video, min(count, MOST_VIDEOS)))
    for post_id, (video, count) in counts.items():
        most = max(count, *(index for each, index in told if each == post_id))
        for index in range(1, min(most, MOST_VIDEOS) + 1):
            yield told.get((post_id, index)) or replace(video, video_index=index, duration_s=None)


def _bare(host: str) -> str:
    return next((host.removeprefix(prefix) for prefix in _PREFIXES if host.startswith(prefix)), host)
