"""Posts as the network's page loads them, and where their videos are on the CDN, in which sizes.

Ages are computed here, by the world's clock: the browser has another. Invariant: a path names a clip of the day or
nothing; no part of it ever becomes a path of this machine.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from touchline_world.days.model import Clip, Day, Delivery, Post
from touchline_world.videos.model import Recipe
from touchline_world.world import World

from .search import is_shown

MINUTE, HOUR, DAY = 60, 3600, 86_400


def age(at: datetime, now: datetime) -> str:
    """`12s`, `2m`, `1h`; from a day on the date."""
    seconds = int((now - at).total_seconds())
    if seconds < 1:
        return "now"
    if seconds < MINUTE:
        return f"{seconds}s"
    if seconds < HOUR:
        return f"{seconds // MINUTE}m"
    if seconds < DAY:
        return f"{seconds // HOUR}h"
    return f"{at:%b} {at.day}" + ("" if at.year == now.year else f", {at.year}")


def iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


def count(number: int) -> str:
    """`999`, `1,234`, `12.3K`, `4.5M`."""
    if number < 10_000:
        return f"{number:,}"
    unit, sign = (1_000, "K") if number < 1_000_000 else (1_000_000, "M")
    tenths = number * 10 // unit
    return f"{tenths // 10}{f'.{tenths % 10}' if tenths % 10 else ''}{sign}"


# Heights that the network makes of what is larger, and what it says of their bit-rate.
LOWER = (270, 360)
BIT_RATES = ((270, 256_000), (360, 832_000), (480, 1_280_000), (720, 2_176_000), (1080, 10_368_000))
LOWER_QUALITY = 30  # x264's constant rate factor
PERCENT = 100
FIRST_ID = 1_900_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class HostedClip:
    """A clip as the network holds it."""

    post: Post
    clip: Clip
    number: int  # of the post's videos, from 1

    @property
    def media_id(self) -> str:
        name = f"{self.post.id}/{self.number}".encode()
        return str(FIRST_ID + int.from_bytes(hashlib.blake2b(name, digest_size=7).digest()))

    @property
    def folder(self) -> str:
        """Publishers and everybody else."""
        return f"{'amplify_video' if self.post.author.is_verified else 'ext_tw_video'}/{self.media_id}"

    @property
    def duration_ms(self) -> int:
        copy, take = self.clip.recipe.copy, self.clip.recipe.take
        end = take.length_ms if copy.ends_ms is None else min(copy.ends_ms, take.length_ms)
        return max(end - copy.starts_ms, 0) * PERCENT // copy.speed_percent

    def variants(self) -> Iterator[HostedVariant]:
        """The smallest first, the poster's own file last."""
        recipe = self.clip.recipe
        for height in LOWER:
            if height < recipe.copy.height:
                copy = replace(recipe.copy, height=height, quality=max(LOWER_QUALITY, recipe.copy.quality))
                yield HostedVariant(self, Recipe(recipe.take, copy))
        yield HostedVariant(self, recipe)

    @property
    def playlist(self) -> str:
        return f"{self.folder}/pl/{self.clip.recipe.key}.m3u8"

    @property
    def poster(self) -> str:
        kind, _, media_id = self.folder.partition("/")
        return f"{kind}_thumb/{media_id}/img/{self.clip.recipe.key}.jpg"


@dataclass(frozen=True, slots=True)
class HostedVariant:
    placed: HostedClip
    recipe: Recipe

    @property
    def size(self) -> tuple[int, int]:
        height = self.recipe.copy.height
        return round(height * 16 / 9 / 2) * 2, height

    @property
    def bit_rate(self) -> int:
        return next((rate for height, rate in BIT_RATES if self.size[1] <= height), BIT_RATES[-1][1])

    @property
    def path(self) -> str:
        width, height = self.size
        return f"{self.placed.folder}/vid/avc1/{width}x{height}/{self.recipe.key}.mp4?tag=14"


@dataclass(frozen=True, slots=True)
class MediaIndex:
    """All the videos of a day, by what their paths are made of."""

    placed: dict[str, HostedClip]

    def find(self, folder: str, key: str) -> HostedVariant | None:
        placed = self.placed.get(folder)
        variants = placed.variants() if placed else iter(())
        return next((variant for variant in variants if variant.recipe.key == key), None)


def hosted_clips(post: Post) -> list[HostedClip]:
    return [HostedClip(post, clip, number) for number, clip in enumerate(post.clips, 1)]


def media_index(day: Day) -> MediaIndex:
    return MediaIndex({placed.folder: placed for post in posts_by_id(day).values() for placed in hosted_clips(post)})


def posts_by_id(day: Day) -> dict[str, Post]:
    """Also those that are only quoted."""
    return {each.id: each for post in day.posts for each in (post.quoted, post) if each}


def replies_of(post: Post) -> int:
    """Nobody counts them in the day; a post that is liked is answered."""
    return (post.likes + post.reposts) // 12 + zlib.crc32(post.id.encode()) % 4


def post_document(world: World, post: Post, media_url: str) -> dict[str, Any]:
    now = world.clock.wall.now()
    at = world.clock.at(post.at_ms)
    return {
        "id": post.id,
        "name": post.author.name,
        "handle": post.author.handle,
        "verified": post.author.is_verified,
        "text": post.text,
        "language": post.language,
        "created_at": iso(at),
        "age": age(at, now),
        "promoted": post.is_promoted,
        "counts": {"reply": count(replies_of(post)), "retweet": count(post.reposts), "like": count(post.likes)},
        "videos": [video_document(placed, media_url) for placed in hosted_clips(post)],
        "quoted": _quoted(world, post, media_url),
    }


def video_document(placed: HostedClip, media_url: str) -> dict[str, Any]:
    *_, best = placed.variants()
    seconds = placed.duration_ms // 1000
    return {
        "number": placed.number,
        "poster": f"{media_url}/{placed.poster}",
        "source": f"{media_url}/{best.path}",
        "duration": f"{seconds // 60}:{seconds % 60:02}",
        "blocked": placed.clip.delivery is Delivery.BLOCKED,
    }


def _quoted(world: World, post: Post, media_url: str) -> dict[str, Any] | None:
    """What was removed is only said to be missing; nobody quotes a quotation."""
    if post.quoted is None:
        return None
    if not is_shown(post.quoted, world.clock.day_ms()):
        return {"removed": True}
    return {**post_document(world, post.quoted, media_url), "quoted": None}
