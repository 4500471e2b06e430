"""Where a post's videos lie on the network's CDN, and in which sizes. Derived from the recipe: nothing is made for it.

Invariant: a path names a clip of the day or nothing; no part of it ever becomes a path of this machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from touchline.world.days.model import Clip, Day, Post
from touchline.world.videos.model import Recipe

# Heights that the network makes of what is larger, and what it says of their bit-rate.
LOWER = (270, 360)
BIT_RATES = ((270, 256_000), (360, 832_000), (480, 1_280_000), (720, 2_176_000), (1080, 10_368_000))
LOWER_QUALITY = 30  # x264's constant rate factor
PERCENT = 100
FIRST_ID = 1_900_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Placed:
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

    def variants(self) -> Iterator[Variant]:
        """The smallest first, the poster's own file last."""
        recipe = self.clip.recipe
        for height in LOWER:
            if height < recipe.copy.height:
                copy = replace(recipe.copy, height=height, quality=max(LOWER_QUALITY, recipe.copy.quality))
                yield Variant(self, Recipe(recipe.take, copy))
        yield Variant(self, recipe)

    @property
    def playlist(self) -> str:
        return f"{self.folder}/pl/{self.clip.recipe.key}.m3u8"

    @property
    def poster(self) -> str:
        kind, _, media_id = self.folder.partition("/")
        return f"{kind}_thumb/{media_id}/img/{self.clip.recipe.key}.jpg"


@dataclass(frozen=True, slots=True)
class Variant:
    placed: Placed
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
class Places:
    """All the videos of a day, by what their paths are made of."""

    placed: dict[str, Placed]

    def find(self, folder: str, key: str) -> Variant | None:
        placed = self.placed.get(folder)
        variants = placed.variants() if placed else iter(())
        return next((variant for variant in variants if variant.recipe.key == key), None)


def clips_of(post: Post) -> list[Placed]:
    return [Placed(post, clip, number) for number, clip in enumerate(post.clips, 1)]


def places_of(day: Day) -> Places:
    return Places({placed.folder: placed for post in posts_by_id(day).values() for placed in clips_of(post)})


def posts_by_id(day: Day) -> dict[str, Post]:
    """Also those that are only quoted."""
    return {each.id: each for post in day.posts for each in (post.quoted, post) if each}
