"""What the network shows of the day's posts at a moment: which, in which order, with which adverts between them.

Invariant: who scrolls on sees the posts of the moment at which the search began, each once, also while new ones come.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from touchline.world.context import World
from touchline.world.days.model import Post

from .query import Searched, parse
from .words import words_of

PAGE = 20
ADVERT_FIRST, ADVERT_EVERY = 3, 9  # places among the posts

_CURSOR = re.compile(r"scroll:([0-9]{1,12}):([0-9]{1,6})", re.ASCII)


class Tab(StrEnum):
    TOP = "top"
    LIVE = "live"
    VIDEO = "video"


@dataclass(frozen=True, slots=True)
class Search:
    query: str
    tab: Tab
    began_ms: int  # of the day
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    posts: tuple[Post, ...]
    cursor: str | None  # None: there are no more


def begin(query: str, tab: str, cursor: str, now_ms: int) -> Search:
    known = Tab(tab) if tab in set(Tab) else Tab.TOP
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        return Search(query, known, now_ms)
    return Search(query, known, min(int(match[1]), now_ms), int(match[2]))


def is_shown(post: Post, at_ms: int) -> bool:
    return post.at_ms <= at_ms and not is_removed(post, at_ms)


def is_removed(post: Post, at_ms: int) -> bool:
    return post.removed_ms is not None and post.removed_ms <= at_ms


def find(world: World, search: Search) -> Found:
    posts = _with_adverts(_matching(world, search), _adverts(world, search))
    end = search.offset + PAGE
    now = world.clock.day_ms()
    page = tuple(post for post in posts[search.offset : end] if is_shown(post, now))
    return Found(page, f"scroll:{search.began_ms}:{end}" if end < len(posts) else None)


def _matching(world: World, search: Search) -> list[Post]:
    test = parse(search.query)
    shown = [post for post in world.day.posts if not post.is_promoted and is_shown(post, search.began_ms)]
    found = [post for post in shown if test(_searched(world, post))]
    if search.tab is Tab.VIDEO:
        found = [post for post in found if post.clips]
    return sorted(found, key=_interest if search.tab is Tab.TOP else _age)


def _searched(world: World, post: Post) -> Searched:
    return Searched(
        words=words_of(post.text),
        handle=post.author.handle,
        language=post.language,
        at=world.clock.at(post.at_ms),
        has_video=bool(post.clips),
        is_quote=post.quoted is not None,
    )


def _age(post: Post) -> tuple[int, int]:
    return -post.at_ms, -int(post.id)


def _interest(post: Post) -> tuple[int, int, int]:
    return -(post.likes + 2 * post.reposts), *_age(post)


def _adverts(world: World, search: Search) -> list[Post]:
    """They are shown whatever was searched for; the search only decides which comes first."""
    shown = [post for post in world.day.posts if post.is_promoted and is_shown(post, search.began_ms)]
    first = zlib.crc32(search.query.encode()) % len(shown) if shown else 0
    return shown[first:] + shown[:first]


def _with_adverts(posts: Sequence[Post], adverts: Sequence[Post]) -> list[Post]:
    waiting = list(adverts)[::-1]
    mixed = list[Post]()
    for place, post in enumerate(posts):
        if waiting and place % ADVERT_EVERY == ADVERT_FIRST:
            mixed.append(waiting.pop())
        mixed.append(post)
    return mixed
