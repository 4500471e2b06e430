"""What a search asks for: words, "phrases", OR, -not, (groups) and operators such as `filter:videos` or `from:name`.

As on the network's own page, OR binds closer than the space between words, and what makes no sense is a word like any
other: nobody's query is an error. Invariant: what is longer or deeper than the limits is cut, not refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from .words import words_of

LONGEST, DEEPEST = 500, 3


@dataclass(frozen=True, slots=True)
class Searched:
    """What of a post a query can see."""

    words: tuple[str, ...]
    handle: str
    language: str
    at: datetime
    has_video: bool
    is_quote: bool


Test = Callable[[Searched], bool]

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
