"""What a page of results means: whose videos, how old, and whether to look further; and the errors of a search. Pure.

Invariant: an advert is never a find, a video belongs to the post that has it and not to one that quotes it, and what
cannot be told apart by a post id is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, cast
from urllib.parse import quote, urlencode, urlsplit

from touchline.kernel import DeadlineExceeded, Misconfigured, RateLimited, Unavailable

# What a search is asked for, what a page shows, and what is answered.
# Invariant: what a page shows is a stranger's: nothing of it is believed before `rules.py` has looked at it.


@dataclass(frozen=True, slots=True)
class SearchRequest:
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
class PageVideo:
    url: str  # of its post
    post_id: str
    video_index: int  # from 1
    video_count: int
    author: str
    text: str
    posted_at: datetime
    duration_s: int | None  # as the page says


@dataclass(frozen=True, slots=True)
class SearchResult:
    videos: tuple[PageVideo, ...]
    scrolled: int
    oldest: datetime | None  # of all posts that were seen
    complete: bool  # False: there was more than a search looks at


POST_LINK = re.compile(r"/([A-Za-z0-9_]{1,50})/status(?:es)?/([0-9]{18,25})(?![0-9])", re.ASCII)
LOGIN_PATHS = re.compile(r"(^|/)(i/flow/login|login|account/access|logout)/?$", re.ASCII)
LENGTH = re.compile(r"[0-9]{1,2}(:[0-9]{2}){1,2}", re.ASCII)
MOST_VIDEOS = 10  # of one post
MOST_TEXT = 5_000
USUAL_LIMIT, LONGEST_LIMIT = timedelta(minutes=1), timedelta(hours=1)
OLD_ENOUGH = 3  # posts in a row that nobody wants: one may be out of order


def search_url(network_url: str, query: str, query_filter: str) -> str:
    """Of the newest posts."""
    whole = query if not query_filter or query_filter in query.split() else f"{query} {query_filter}"
    return f"{network_url}/search?{urlencode({'q': whole, 'src': 'typed_query', 'f': 'live'}, quote_via=quote)}"


def user_agent(version: str) -> str:
    """What a Chromium of this version says on Linux when it has a window. Without one it calls itself "headless",
    which tells the network nothing about the person whose session it is."""
    major = version.partition(".")[0]
    return f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36"


def limit_ends_in(headers: Mapping[str, str], now: datetime) -> timedelta:
    """For how long an answer of 429 wants no more searches. Names of headers are in small letters."""
    if (seconds := _digits(headers.get("retry-after"))) is not None:
        pause = timedelta(seconds=seconds)
    elif (epoch := _digits(headers.get("x-rate-limit-reset"))) is not None:
        pause = timedelta(seconds=epoch - now.timestamp())
    else:
        pause = USUAL_LIMIT
    return min(max(pause, timedelta(seconds=1)), LONGEST_LIMIT)


def _digits(value: str | None) -> int | None:
    return int(value) if value and value.isascii() and value.isdecimal() and len(value) <= 12 else None


def room_from(searches: Iterable[datetime], most: int, window: timedelta, now: datetime) -> datetime | None:
    """When the account may search again; None: now. A clock that was set back must not lock it for longer than once."""
    counted = sorted(min(each, now) for each in searches if each > now - window)
    return counted[-most] + window if len(counted) >= most else None


def post_ids(urls: Iterable[str]) -> frozenset[str]:
    """Of all that are links to posts; a bare id counts, too."""
    found = (POST_LINK.search(url) or re.fullmatch(r"()([0-9]{18,25})", url, re.ASCII) for url in urls)
    return frozenset(match[2] for match in found if match)


def is_login(url: str) -> bool:
    return LOGIN_PATHS.search(urlsplit(url).path) is not None


def read_view(document: Mapping[str, Any]) -> View:
    posts = tuple(_shown(each) for each in cast("list[dict[str, Any]]", document["posts"]))
    return View(_state(document, posts), bool(document["loading"]), bool(document["atEnd"]), posts)


def _state(document: Mapping[str, Any], posts: tuple[ShownPost, ...]) -> PageState:
    if is_login(str(document["url"])):
        return PageState.LOGIN
    if document["failed"]:
        return PageState.FAILED
    if posts:
        return PageState.POSTS
    return PageState.EMPTY if document["empty"] else PageState.LOADING


def _shown(each: Mapping[str, Any]) -> ShownPost:
    lengths = cast("list[str | None]", each["videos"])
    return ShownPost(
        link=each["link"],
        moment=each["moment"],
        text=str(each["text"])[:MOST_TEXT],
        is_cut=bool(each["cut"]),
        is_promoted=bool(each["promoted"]),
        is_quoted=bool(each["quoted"]),
        lengths=tuple(lengths[:MOST_VIDEOS]),
    )


def known(shown: ShownPost, network_url: str) -> Post | None:
    """None for adverts, for what has no link or time, and for links that lead elsewhere."""
    if shown.is_promoted or not shown.link or not shown.moment:
        return None
    if origin_of(shown.link) != origin_of(network_url):
        return None
    match, posted_at = POST_LINK.search(urlsplit(shown.link).path), read_moment(shown.moment)
    if match is None or posted_at is None:
        return None
    url = f"{network_url}/{match[1]}/status/{match[2]}"
    return Post(match[2], url, match[1], shown.text, shown.is_cut, shown.is_quoted, posted_at, shown.lengths)


def read_moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def origin_of(url: str) -> tuple[str, str, int | None]:
    """Nobody's origin for what is no address."""
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", "", None


def is_wanted(post: Post, search: SearchRequest) -> bool:
    return bool(post.lengths) and post.posted_at >= search.since and post.id not in search.excluded


def reaches_back(posts: Iterable[Post], since: datetime) -> bool:
    """Whether the newest-first list has come to those that are too old."""
    listed = [post for post in posts if not post.is_quoted]
    return len(listed) >= OLD_ENOUGH and all(post.posted_at < since for post in listed[-OLD_ENOUGH:])


def videos_of(post: Post) -> list[PageVideo]:
    return [
        PageVideo(
            url=post.url,
            post_id=post.id,
            video_index=place,
            video_count=len(post.lengths),
            author=post.author,
            text=post.text,
            posted_at=post.posted_at,
            duration_s=read_length(length),
        )
        for place, length in enumerate(post.lengths, 1)
    ]


def read_length(text: str | None) -> int | None:
    """`0:34`, `1:02:03`."""
    if text is None or not LENGTH.fullmatch(text):
        return None
    seconds = 0
    for part in text.split(":"):
        seconds = seconds * 60 + int(part)
    return seconds


# What can go wrong with a search, as errors.
#
# Unavailable
# ├── LoginNeeded             the network wants to know who we are; a person must help
# ├── BrowserGone             the browser ended in the middle of a search
# ├── NetworkFailed           the network answers with an error
# └── DeadlineExceeded
# └── SearchTimedOut
# RateLimited
# ├── TooManySearches         more wait than may
# ├── SearchBudgetSpent       the account has searched as often as the settings allow
# └── NetworkLimited          the network limits the account's searches
# Misconfigured
# ├── ChromiumMissing         there is no browser that can be started
# └── DisplayMissing          a window is wanted, and there is no display for it


class LoginNeeded(Unavailable):
    next_step = (
        "Sign in to the network in your own browser, export its cookies to a file, "
        "and run `touchline watch login --cookies FILE`."
    )


class BrowserGone(Unavailable):
    next_step = "Search again: the next search starts a new browser."


class NetworkFailed(Unavailable):
    next_step = "Search again later. Open the network in a browser to check whether it works."


class SearchTimedOut(DeadlineExceeded):
    next_step = "Search again. If it keeps happening, raise `browser.page_time` and `browser.search_time`."


class TooManySearches(RateLimited):
    next_step = "Search again later, or raise `browser.at_once`."


class SearchBudgetSpent(RateLimited):
    next_step = "Wait, or raise `browser.searches_per_window` if the network allows your account more."


class NetworkLimited(RateLimited):
    next_step = "Wait until the rate limit ends. If it happens often, lower `browser.searches_per_window`."


class ChromiumMissing(Misconfigured):
    next_step = (
        "Install it (on Debian and Ubuntu: apt-get install chromium; else `playwright install chromium`), "
        "or set its path in `browser.chromium`."
    )


class DisplayMissing(Misconfigured):
    next_step = "Start the role with DISPLAY or WAYLAND_DISPLAY set, like `xvfb-run` does, or unset `browser.headed`."
