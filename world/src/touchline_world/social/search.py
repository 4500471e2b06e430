"""The search: words, "phrases", OR, -not, (groups) and operators such as `filter:videos` or `from:name`; then what the
network shows at a moment: which posts, in which order, with which adverts between them.

As on the real page, OR binds closer than the space between words, and what makes no sense is a word like any other:
no query is an error. Invariant: what is longer or deeper than the limits is cut, not refused; someone who scrolls on
sees the posts of the moment at which the search began, each once, also while new ones arrive.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from touchline_world.days.model import Post
from touchline_world.world import World

# What decomposition leaves whole although people write it with plain letters.
PLAIN = str.maketrans({"ø": "o", "đ": "d", "ð": "d", "ł": "l", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th"})

_WORD = re.compile(r"\w+")


def words_of(text: str) -> tuple[str, ...]:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(each for each in decomposed if not unicodedata.combining(each))
    return tuple(_WORD.findall(bare.translate(PLAIN)))


LONGEST, DEEPEST = 500, 3


@dataclass(frozen=True, slots=True)
class SearchablePost:
    """What of a post a query can see."""

    words: tuple[str, ...]
    handle: str
    language: str
    at: datetime
    has_video: bool
    is_quote: bool


Test = Callable[[SearchablePost], bool]

_TOKEN = re.compile(r'-?"[^"]*"?|-?\(|\)|[^\s()"]+')
_OPERATOR = re.compile(r"([a-z_]+):(\S+)")
_FILTERS: dict[str, Test] = {
    "videos": lambda post: post.has_video,
    "native_video": lambda post: post.has_video,
    "media": lambda post: post.has_video,
    "quote": lambda post: post.is_quote,
    "replies": lambda post: False,
    "images": lambda post: False,
}


def parse(text: str) -> Test:
    """Whether a post is one of those asked for. A query without any condition asks for nothing."""
    tokens = _TOKEN.findall(text[:LONGEST])[::-1]
    tests = list[Test]()
    while tokens:  # a closing bracket that nobody opened ends nothing
        tests += _group(tokens, DEEPEST)
    return _every(tests) if tests else lambda post: False


def _group(tokens: list[str], depth: int) -> list[Test]:
    """Up to the closing bracket: what must all hold."""
    tests = list[Test]()
    joins = False
    while tokens:
        part = tokens.pop()
        if part == ")":
            break
        if part == "OR":
            joins = bool(tests)
            continue
        test = _term(part, tokens, depth)
        if test is None:
            continue
        tests.append(_either(tests.pop(), test) if joins else test)
        joins = False
    return tests


def _term(token: str, tokens: list[str], depth: int) -> Test | None:
    negated, bare = token.startswith("-") and len(token) > 1, token.removeprefix("-")
    if bare == "(":
        inner = _group(tokens, depth - 1) if depth else []
        test = _every(inner) if inner else None
    else:
        test = _operator(bare) or _phrase(words_of(bare))
    return _not(test) if negated and test else test


def _operator(token: str) -> Test | None:
    match = _OPERATOR.fullmatch(token)
    if match is None:
        return None
    name, value = match.groups()
    match name:
        case "filter":
            return _FILTERS.get(value.lower())
        case "from":
            return lambda post: post.handle.casefold() == value.removeprefix("@").casefold()
        case "lang":
            return lambda post: post.language == value.lower()
        case _:
            return _time(name, value)


def _time(name: str, value: str) -> Test | None:
    moment = _moment(name, value)
    if moment is None:
        return None
    return (lambda post: post.at >= moment) if name.startswith("since") else (lambda post: post.at < moment)


def _moment(name: str, value: str) -> datetime | None:
    try:
        if name in {"since", "until"}:
            return datetime.strptime(value, "%Y-%m-%d").replace(tzinfo=UTC)
        if name in {"since_time", "until_time"}:
            return datetime.fromtimestamp(int(value), UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _phrase(words: tuple[str, ...]) -> Test | None:
    """The words next to each other. A query word such as Saint-Germain has two."""
    if not words:
        return None
    length = len(words)
    return lambda post: any(post.words[at : at + length] == words for at in range(len(post.words) - length + 1))


def _every(tests: list[Test]) -> Test:
    return lambda post: all(test(post) for test in tests)


def _either(first: Test, second: Test) -> Test:
    return lambda post: first(post) or second(post)


def _not(test: Test) -> Test:
    return lambda post: not test(post)


PAGE = 20
ADVERT_FIRST, ADVERT_EVERY = 3, 9  # places among the posts

_CURSOR = re.compile(r"scroll:([0-9]{1,12}):([0-9]{1,6})", re.ASCII)


class Tab(StrEnum):
    TOP = "top"
    LIVE = "live"
    VIDEO = "video"


@dataclass(frozen=True, slots=True)
class SearchRequest:
    query: str
    tab: Tab
    began_ms: int  # of the day
    offset: int = 0


@dataclass(frozen=True, slots=True)
class SearchPage:
    posts: tuple[Post, ...]
    cursor: str | None  # None: there are no more


def begin_search(query: str, tab: str, cursor: str, now_ms: int) -> SearchRequest:
    known = Tab(tab) if tab in set(Tab) else Tab.TOP
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        return SearchRequest(query, known, now_ms)
    return SearchRequest(query, known, min(int(match[1]), now_ms), int(match[2]))


def is_shown(post: Post, at_ms: int) -> bool:
    return post.at_ms <= at_ms and not is_removed(post, at_ms)


def is_removed(post: Post, at_ms: int) -> bool:
    return post.removed_ms is not None and post.removed_ms <= at_ms


def find_posts(world: World, search: SearchRequest) -> SearchPage:
    posts = _with_adverts(_matching(world, search), _adverts(world, search))
    end = search.offset + PAGE
    now = world.clock.day_ms()
    page = tuple(post for post in posts[search.offset : end] if is_shown(post, now))
    return SearchPage(page, f"scroll:{search.began_ms}:{end}" if end < len(posts) else None)


def _matching(world: World, search: SearchRequest) -> list[Post]:
    test = parse(search.query)
    shown = [post for post in world.day.posts if not post.is_promoted and is_shown(post, search.began_ms)]
    found = [post for post in shown if test(_searched(world, post))]
    if search.tab is Tab.VIDEO:
        found = [post for post in found if post.clips]
    return sorted(found, key=_interest if search.tab is Tab.TOP else _age)


def _searched(world: World, post: Post) -> SearchablePost:
    return SearchablePost(
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


def _adverts(world: World, search: SearchRequest) -> list[Post]:
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
