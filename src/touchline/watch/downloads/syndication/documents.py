"""What a `tweet-result` says: where the best file of a video is, or why there is none. Pure.

Invariant: an empty document, a tombstone, a post without a video and a blocked video are four different failures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from touchline.watch.downloads.rules import Blocked, Gone, Malformed, MediaFile, NoVideo

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
        raise NoVideo("the post's video is not there as an MP4 file")
    return MediaFile(max(variants, key=lambda each: each.bit_rate).url, _length_ms(known.get("duration_millis")))


def _length_ms(value: object) -> int | None:
    """Moving pictures without sound have none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _post(document: object) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise Malformed("the answer about the post is no document")
    post = cast("Mapping[str, Any]", document)
    if not post:
        raise Malformed("the answer about the post is empty")
    if post.get("__typename") == "TweetTombstone" or "tombstone" in post:
        raise Gone("the post was removed", why=_tombstone_text(post))
    if post.get("__typename", "Tweet") != "Tweet":
        raise Malformed("the answer is not about a post", why=str(post.get("__typename"))[:40])
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
        raise Blocked("the network does not show this video here", why=str(known.get("reason", ""))[:40])


def _variants(variants: object) -> Iterator[Variant]:
    for each in _mappings(variants):
        url, rate = each.get("url"), each.get("bitrate", 0)
        if each.get("content_type") == MP4 and isinstance(url, str):
            yield Variant(url, rate if isinstance(rate, int) else 0)


def _mappings(values: object) -> Iterator[Mapping[str, Any]]:
    for each in cast("list[object]", values) if isinstance(values, list) else ():
        if isinstance(each, dict):
            yield cast("Mapping[str, Any]", each)
