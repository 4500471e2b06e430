"""Asks the browser role to search, and reads posts and their videos from its answer.

Invariant: a search that could not be made raises and is never "nothing found"; a login that expired has its own error,
because trying again does not help.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from prometheus_client import Counter, Gauge

from touchline.kernel import Defect, Misconfigured, RateLimited, TouchlineError, Unavailable
from touchline.watch.http_request import OutgoingRequest, ServiceReply, ask
from touchline.watch.settings import DiscoverySettings

from .rules import FoundVideo
from .workflow import SearchOrder

# What else can go wrong with a search.
#
# Unavailable
# └── LoginExpired            the network wants to know who we are: only a person can help


class LoginExpired(Unavailable):
    retryable = False
    next_step = "Sign in again with the session of your own browser; `touchline status` shows the login."


class LeftAlone(RateLimited):
    retryable = False
    next_step = "Search less often: raise `watch.search_interval`, or lower `aliases.words`."


# Metrics of the search for videos, of this process.

SEARCHES = Counter("touchline_watch_searches", "Queries to the browser role, by result.", ["outcome"])
FOUND = Counter("touchline_watch_found_videos", "New videos that were found for goals.")
SELECTED = Counter("touchline_watch_selected_videos", "Videos that were queued for download.")
WORKS = Gauge("touchline_watch_search_works", "Whether the last check of the search succeeded.")
CHECKED = Gauge(
    "touchline_watch_search_checked_seconds", "The time of the last check of the search, in seconds since 1970."
)


# Links to posts, and the videos behind them. Pure.
# Invariant: a post id is digits only, at least 18 of them; what is shorter was cut off somewhere and names nothing.

MOST_VIDEOS_OF_POST = 10  # of one post
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
    host, link = _parse_link(url)
    return link if host in hosts else None


def stranger(url: str, hosts: Sequence[str]) -> str | None:
    """The host of a link that would be one to a post, if only the host were known."""
    host, link = _parse_link(url)
    return host if link and host not in hosts else None


def _parse_link(url: str) -> tuple[str, PostLink | None]:
    try:
        parts = urlsplit(url.strip())
        host = _bare(parts.netloc.rpartition("@")[2].lower())
    except ValueError:
        return "", None
    match = _PATH.search(parts.path)
    if parts.scheme not in {"http", "https"} or not match or not is_post_id(match[1]):
        return host, None
    index = int(match[2]) if match[2] else None
    return host, PostLink(match[1], index if index is None or 1 <= index <= MOST_VIDEOS_OF_POST else None)


def each_video(found: Iterable[tuple[FoundVideo, int]]) -> Iterator[FoundVideo]:
    """Every video of every post once, although only some of a post's were told. With each comes how many there are."""
    reported = dict[tuple[str, int], FoundVideo]()
    counts = dict[str, tuple[FoundVideo, int]]()
    for video, count in found:
        reported.setdefault((video.post_id, video.video_index), video)
        counts.setdefault(video.post_id, (video, min(count, MOST_VIDEOS_OF_POST)))
    for post_id, (video, count) in counts.items():
        most = max(count, *(index for each, index in reported if each == post_id))
        for index in range(1, min(most, MOST_VIDEOS_OF_POST) + 1):
            yield reported.get((post_id, index)) or replace(video, video_index=index, duration_s=None)


def _bare(host: str) -> str:
    return next((host.removeprefix(prefix) for prefix in _PREFIXES if host.startswith(prefix)), host)


SERVICE = "the browser role"
LOGIN_NEEDED = "login_needed"
MOST_VIDEOS = 40  # of one query: what a workflow's history has room for
LONGEST_PAUSE = timedelta(seconds=20)  # that an attempt waits for
LONGEST_TEXT = 280
LONGEST_AUTHOR = 50


@dataclass(frozen=True, slots=True)
class SearchClient:
    settings: DiscoverySettings
    http: httpx.AsyncClient

    async def find(self, order: SearchOrder) -> list[FoundVideo]:
        try:
            found = await self._find(order)
        except TouchlineError as error:
            SEARCHES.labels(type(error).__name__).inc()
            raise
        SEARCHES.labels("answered").inc()
        return found

    async def _find(self, order: SearchOrder) -> list[FoundVideo]:
        if not self.settings.browser_url:
            raise Misconfigured("the search is not configured", why="discovery.browser_url is empty")
        body = {
            "search_query": order.query,
            "exclude_urls": order.exclude_urls,
            "max_age_minutes": order.max_age_minutes,
        }
        proof = {"Authorization": f"Bearer {self.settings.browser_token.get_secret_value()}"}
        request = self.http.build_request("POST", f"{self.settings.browser_url}/search", json=body, headers=proof)
        reply = await ask(self.http, OutgoingRequest(SERVICE, request, self.settings.timeout))
        check(reply)
        return read_videos(_document(reply), order.query, self.settings.hosts)


def read_videos(document: Any, query: str, hosts: Sequence[str]) -> list[FoundVideo]:
    """Every video of every post, bounded; entries that name no post are left out."""
    listed = cast("dict[str, Any]", document).get("videos") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise Unavailable("the response of the browser role is malformed", why="it has no list of videos")
    entries = [cast("dict[str, Any]", each) for each in cast("list[Any]", listed) if isinstance(each, dict)]
    found = list(each_video(_read(entries, query, hosts)))[:MOST_VIDEOS]
    if not found:
        _require_known_hosts(entries, hosts)
    return found


def _require_known_hosts(entries: list[dict[str, Any]], hosts: Sequence[str]) -> None:
    """Else a network that nobody named looks like one without goals."""
    strangers = {host for entry in entries if (host := stranger(_text(entry, "url"), hosts))}
    if strangers:
        hint = "Add it to `discovery.hosts`."
        raise Misconfigured("the search found posts of an unknown host", why=", ".join(sorted(strangers)), hint=hint)


def _read(entries: list[dict[str, Any]], query: str, hosts: Sequence[str]) -> Iterator[tuple[FoundVideo, int]]:
    for entry in entries:
        url, named = _text(entry, "url"), _text(entry, "post_id")
        link = read_link(url, hosts)
        if link is None or (named and (not is_post_id(named) or named != link.post_id)):
            continue
        video = FoundVideo(
            url=url,
            post_id=link.post_id,
            video_index=_whole(entry, "video_index") or link.video_index or 1,
            author=_text(entry, "author")[:LONGEST_AUTHOR],
            text=_text(entry, "text")[:LONGEST_TEXT],
            posted_at=_moment(_text(entry, "posted_at")),
            duration_s=_seconds(entry.get("duration_s")),
            query=query,
        )
        yield video, _whole(entry, "video_count") or 1


def check(reply: ServiceReply) -> None:
    """Raises what the role's problem document says, unless it found something, or nothing."""
    if reply.status == 200:
        return
    problem = _problem(reply)
    what, why, hint = (_text(problem, name) for name in ("title", "detail", "next"))
    what = what or "the search failed"
    why = why or f"status {reply.status}"
    if problem.get("reason") == LOGIN_NEEDED:
        raise LoginExpired(what, why=why, hint=hint)
    if reply.status == 429:
        pause = _retry_after(reply)
        kind = LeftAlone if pause and pause > LONGEST_PAUSE else RateLimited
        raise kind(what, why=why, hint=hint, retry_after=pause)
    if reply.status in {400, 404, 405, 413, 422}:
        raise Defect("the browser role rejected the request", why=f"{what}: {why}")
    if problem.get("retryable") is False:
        raise Misconfigured(what, why=why, hint=hint)
    raise Unavailable(what, why=why, hint=hint)


def _document(reply: ServiceReply) -> Any:
    try:
        return reply.document()
    except ValueError as error:
        raise Unavailable("the response of the browser role is malformed", why=str(error)) from error


def _problem(reply: ServiceReply) -> dict[str, Any]:
    try:
        document = reply.document()
    except ValueError:
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


def _retry_after(reply: ServiceReply) -> timedelta | None:
    value = reply.headers.get("retry-after", "")
    return timedelta(seconds=int(value)) if value.isascii() and value.isdecimal() and len(value) <= 4 else None


def _text(entry: dict[str, Any], name: str) -> str:
    """Without what the database does not take: zeros, and halves of letters."""
    value = entry.get(name)
    return value.replace("\x00", "").encode("utf-8", "ignore").decode() if isinstance(value, str) else ""


def _whole(entry: dict[str, Any], name: str) -> int | None:
    value = entry.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10 else None


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 86_400 else None


def _moment(text: str) -> str | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
