"""What a search is asked for, what a page shows, and what is answered.

Invariant: what a page shows is a stranger's: nothing of it is believed before `rules.py` has looked at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Search:
    query: str
    excluded: frozenset[str]  # post ids
    since: datetime  # what is older is not wanted


@dataclass(frozen=True, slots=True)
class ShownPost:
    """As it stands on the page. A quoted one is another post."""

    link: str | None
    moment: str | None
    text: str
    is_cut: bool
    is_promoted: bool
    is_quoted: bool
    lengths: tuple[str | None, ...]  # of its videos, like 0:34, where it says so


class PageState(StrEnum):
    POSTS = "posts"
    LOADING = "loading"
    EMPTY = "empty"  # it says that there is nothing
    FAILED = "failed"  # it says that loading failed
    LOGIN = "login"  # it wants to know who we are


@dataclass(frozen=True, slots=True)
class View:
    """One look at the page."""

    state: PageState
    is_loading: bool
    at_end: bool
    posts: tuple[ShownPost, ...]


@dataclass(frozen=True, slots=True)
class Post:
    """One that can be told apart and dated."""

    id: str
    url: str
    author: str
    text: str
    is_cut: bool
    is_quoted: bool
    posted_at: datetime
    lengths: tuple[str | None, ...]  # of its videos


@dataclass(frozen=True, slots=True)
class Video:
    url: str  # of its post
    post_id: str
    video_index: int  # from 1
    video_count: int
    author: str
    text: str
    posted_at: datetime
    duration_s: int | None  # as the page says


@dataclass(frozen=True, slots=True)
class Found:
    videos: tuple[Video, ...]
    scrolled: int
    oldest: datetime | None  # of all posts that were seen
    complete: bool  # False: there was more than a search looks at
