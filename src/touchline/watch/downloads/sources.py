"""Where the file of a found video is: the syndication is asked first, then yt-dlp, and only where that may help.

Invariant: when both fail, the first one's reason counts: it is about the post, not about yt-dlp.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from touchline.watch.model import FoundRef
from touchline.watch.settings import DownloadSettings, SecondWay

from .addresses import Policy
from .fetch import Fetcher, FetchLimits, FetchRequest, failure_of
from .rules import Blocked, DownloadFailure, Gone, Malformed, MediaFile, NoVideo, TooSlow, rule_of

# What a `tweet-result` says: where the best file of a video is, or why there is none. Pure.
# Invariant: an empty document, a tombstone, a post without a video and a blocked video are four different failures.

MP4 = "video/mp4"
VIDEO_TYPES = ("video", "animated_gif")
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
FRACTION_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Variant:
    url: str
    bit_rate: int


def token_of(post_id: str) -> str:
    """What pages that embed a post send along: the id times pi, to the base of 36, without zeros."""
    whole, rest = divmod(int(post_id) / 1e15 * math.pi, 1)
    digits = list[str]()
    number = int(whole)
    while number:
        number, digit = divmod(number, 36)
        digits.insert(0, DIGITS[digit])
    for _ in range(FRACTION_DIGITS):
        digit, rest = divmod(rest * 36, 1)
        digits.append(DIGITS[int(digit)])
    return "".join(digits).replace("0", "") or "a"


def best_file(document: object, video_index: int) -> MediaFile:
    post = _post(document)
    videos = [each for each in _mappings(post.get("mediaDetails")) if each.get("type") in VIDEO_TYPES]
    if len(videos) < video_index:
        raise NoVideo("the post has no such video", why=f"it has {len(videos)}")
    video = videos[video_index - 1]
    _require_available(video)
    info = video.get("video_info")
    known = cast("Mapping[str, Any]", info if isinstance(info, dict) else {})
    variants = list(_variants(known.get("variants")))
    if not variants:
        raise NoVideo("the post has no MP4 file of the video")
    return MediaFile(max(variants, key=lambda each: each.bit_rate).url, _length_ms(known.get("duration_millis")))


def _length_ms(value: object) -> int | None:
    """Moving pictures without sound have none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _post(document: object) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise Malformed("the response about the post is not a JSON object")
    post = cast("Mapping[str, Any]", document)
    if not post:
        raise Malformed("the response about the post is empty")
    if post.get("__typename") == "TweetTombstone" or "tombstone" in post:
        raise Gone("the post was removed", why=_tombstone_text(post))
    if post.get("__typename", "Tweet") != "Tweet":
        raise Malformed("the response is not about a post", why=str(post.get("__typename"))[:40])
    return post


def _tombstone_text(post: Mapping[str, Any]) -> str:
    tombstone: Any = post.get("tombstone")
    for key in ("text", "text"):
        tombstone = cast("Mapping[str, Any]", tombstone).get(key) if isinstance(tombstone, dict) else tombstone
    return tombstone[:120] if isinstance(tombstone, str) else ""


def _require_available(video: Mapping[str, Any]) -> None:
    availability = video.get("ext_media_availability")
    if not isinstance(availability, dict):
        return
    known = cast("Mapping[str, Any]", availability)
    if str(known.get("status", "Available")).lower() != "available":
        raise Blocked("the network does not show this video in this region", why=str(known.get("reason", ""))[:40])


def _variants(variants: object) -> Iterator[Variant]:
    for each in _mappings(variants):
        url, rate = each.get("url"), each.get("bitrate", 0)
        if each.get("content_type") == MP4 and isinstance(url, str):
            yield Variant(url, rate if isinstance(rate, int) else 0)


def _mappings(values: object) -> Iterator[Mapping[str, Any]]:
    for each in cast("list[object]", values) if isinstance(values, list) else ():
        if isinstance(each, dict):
            yield cast("Mapping[str, Any]", each)


LARGEST_DOCUMENT = 2 * 1024**2


@dataclass(frozen=True, slots=True)
class Syndication:
    fetcher: Fetcher
    url: str

    async def media_file(self, video: FoundRef) -> MediaFile:
        """Of the file with the highest bit-rate. Raises a `DownloadFailure` that says what is wrong with the post."""
        return best_file(await self._document(video.post_id), video.video_index)

    async def _document(self, post_id: str) -> Any:
        query = urlencode({"id": post_id, "lang": "en", "token": token_of(post_id)})
        request = FetchRequest(f"{self.url}/tweet-result?{query}", {"Accept": "application/json"})
        answer, content = await self.fetcher.read(request, LARGEST_DOCUMENT)
        failure = failure_of(answer)
        if failure is not None:
            raise failure
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise Malformed("the response about the post is not JSON") from error


# Lets yt-dlp find the address of a post's video. It never fetches the video: that is done as with any other address.
# Invariant: it may ask a few small questions by our guarded fetching and nothing else; its time is limited, and when
# that is over each further question is refused, which ends its thread.

DAY_S = 86_400
# Not those that everybody uses: what it asks for is looked up on those, and could wait for itself.
_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="yt-dlp")


@dataclass(frozen=True, slots=True)
class Extraction:
    fetcher: Fetcher
    api: str  # as yt-dlp names the network's interfaces
    syndication_url: str
    within_s: float

    async def media_file(self, video: FoundRef) -> MediaFile:
        from touchline.watch.downloads.ytdlp import ExtractionTask  # takes a second and 40 MB, and is seldom needed

        task = ExtractionTask(self.fetcher, asyncio.get_running_loop(), self.syndication_url)
        try:
            async with asyncio.timeout(self.within_s):
                document = await task.loop.run_in_executor(_THREADS, self._extract, task, video)
        except TimeoutError as error:
            raise TooSlow("yt-dlp timed out") from error
        finally:
            task.end()
        return _best_file(document, video.video_index)

    def _extract(self, task: Any, video: FoundRef) -> Mapping[str, Any]:
        from touchline.watch.downloads.ytdlp import extract

        return extract(task, f"https://x.com/i/status/{video.post_id}", self.api)


def _best_file(document: Mapping[str, Any], video_index: int) -> MediaFile:
    entries = [each for each in _entries(document) if each.get("formats")]
    if len(entries) < video_index:
        raise NoVideo("yt-dlp did not find the video", why=f"it found {len(entries)}")
    entry = entries[video_index - 1]
    formats = [each for each in _dictionaries(entry["formats"]) if _is_file(each)]
    if not formats:
        raise NoVideo("yt-dlp found no MP4 file")
    best = max(formats, key=lambda each: float(each.get("tbr") or 0))
    return MediaFile(str(best["url"]), _duration_ms(entry.get("duration")))


def _duration_ms(seconds: object) -> int | None:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return round(seconds * 1000) if 0 < seconds < DAY_S else None


def _entries(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if document.get("_type") in (None, "video"):
        yield document
    elif document.get("_type") in ("playlist", "multi_video"):
        yield from _dictionaries(document.get("entries"))
    else:
        raise Malformed("yt-dlp was redirected to another page")


def _dictionaries(values: object) -> list[Mapping[str, Any]]:
    found = list(cast("list[object]", values)) if isinstance(values, list) else []
    return [cast("Mapping[str, Any]", each) for each in found if isinstance(each, dict)]


def _is_file(each: Mapping[str, Any]) -> bool:
    return isinstance(each.get("url"), str) and "m3u8" not in str(each.get("protocol", "")) + str(each["url"])


_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sources:
    fetcher: Fetcher
    first: Syndication
    second: Extraction | None

    async def media_file(self, video: FoundRef) -> MediaFile:
        try:
            return await self.first.media_file(video)
        except DownloadFailure as failure:
            if self.second is None or not rule_of(failure).other_way:
                raise
            _LOG.info("[DOWNLOAD] Trying yt-dlp", extra={"post_id": video.post_id, "because": failure.reason})
            return await self._by_second(self.second, video, failure)

    async def _by_second(self, second: Extraction, video: FoundRef, first: DownloadFailure) -> MediaFile:
        """When it fails too, the first one's word counts: it is about the post, not about yt-dlp."""
        try:
            return await second.media_file(video)
        except DownloadFailure as failure:
            _LOG.info("[DOWNLOAD] yt-dlp failed", extra={"post_id": video.post_id, "why": str(failure)})
            raise first from failure


def open_sources(settings: DownloadSettings) -> Sources:
    fetcher = Fetcher(policy_of(settings), limits_of(settings))
    url = settings.syndication_url
    second = Extraction(fetcher, settings.second_way, url, settings.second_way_timeout.total_seconds())
    return Sources(fetcher, Syndication(fetcher, url), None if settings.second_way is SecondWay.OFF else second)


def policy_of(settings: DownloadSettings) -> Policy:
    return Policy(settings.ports, frozenset(settings.allow_hosts))


def limits_of(settings: DownloadSettings) -> FetchLimits:
    return FetchLimits(
        connect_s=settings.connect_timeout.total_seconds(),
        silence_s=settings.silence_timeout.total_seconds(),
        total_s=settings.total_timeout.total_seconds(),
        redirects=settings.redirects,
        least_bytes_per_second=settings.least_rate,
        window_s=settings.rate_window.total_seconds(),
    )
