"""Looking at a picture: which video of the day it is from, by its hash, and so what it shows; else by its colours.

The newest videos are compared first and hashed when they are first needed, as whoever asks has just found one.
Invariant: what is said of a known picture is the truth of its recipe; only unknown ones are guessed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from touchline.media.fingerprint.pictures import hash_image
from touchline_world.days.model import Delivery, Post
from touchline_world.frames import Pixels, pictures, shrunk
from touchline_world.videos.drawing.football import WIPE_S, cuts_of
from touchline_world.videos.drawing.graphics import clock_text
from touchline_world.videos.library import recipes_of
from touchline_world.videos.model import BugStyle, Recipe, TakeKind
from touchline_world.world import World

EVERY_MS = 60
SEEN = (320, 180)  # before hashing, so that a copy of another size has the same hash
SMALL = (48, 27)
NEAR_BITS, NEAR_LEVELS = 12, 14.0
SURE_LEVELS = 6.0
GRASS_SHARE = 0.35
MOST_HASHED = 512  # videos

Small = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class PictureHash:
    hash: int
    small: Small


@dataclass(frozen=True, slots=True)
class HashedVideo:
    """A video, picture by picture."""

    times_ms: tuple[int, ...]
    hashes: NDArray[np.uint64]
    small: Small


@dataclass(frozen=True, slots=True)
class Recognised:
    recipe: Recipe
    at_ms: int  # in the file
    distance: float


@dataclass(frozen=True, slots=True)
class PictureFacts:
    soccer: bool
    screen: bool
    clock: str | None


class PictureRecogniser:
    def __init__(self, world: World) -> None:
        self._world = world
        self._hashed: dict[str, HashedVideo] = {}
        self._lock = asyncio.Lock()  # one at a time: the machine has other work

    async def look(self, picture: Image.Image) -> PictureFacts:
        found = await self.recognise(picture)
        return facts_of(found) if found else guess_facts(picture)

    async def recognise(self, picture: Image.Image) -> Recognised | None:
        looked = await asyncio.to_thread(hash_picture, pixels_of(picture))
        best: Recognised | None = None
        for recipe in self._recipes():
            near = nearest(await self._hashed_file(recipe), looked)
            if near and (best is None or near[1] < best.distance):
                best = Recognised(recipe, *near)
                if best.distance <= SURE_LEVELS:
                    break
        return best

    async def learn(self) -> None:
        """All videos of the day beforehand, in the order in which they are posted: the first questions wait less."""
        for recipe in recipes_of(self._world.day):
            await self._hashed_file(recipe)

    def _recipes(self) -> Iterator[Recipe]:
        """Of what was posted so far, the newest first, each once."""
        now_ms = self._world.clock.day_ms()
        posts = sorted((post for post in self._world.day.posts if post.at_ms <= now_ms), key=_when, reverse=True)
        clips = [clip for post in posts for each in (post, post.quoted) if each for clip in each.clips]
        whole = (clip.recipe for clip in clips if clip.delivery not in {Delivery.EMPTY, Delivery.BROKEN})
        return iter({recipe.key: recipe for recipe in whole}.values())

    async def _hashed_file(self, recipe: Recipe) -> HashedVideo:
        async with self._lock:
            known = self._hashed.get(recipe.key)
            if known is None:
                path = await self._world.videos.file(recipe)
                known = await asyncio.to_thread(hash_file, path)
                if len(self._hashed) >= MOST_HASHED:
                    self._hashed.pop(next(iter(self._hashed)))
                self._hashed[recipe.key] = known
        return known


def _when(post: Post) -> int:
    return post.at_ms


def hash_file(path: Path) -> HashedVideo:
    seen = [(at_ms, hash_picture(picture)) for at_ms, picture in pictures(path, EVERY_MS)]
    return HashedVideo(
        times_ms=tuple(at_ms for at_ms, _ in seen),
        hashes=np.array([looked.hash for _, looked in seen], np.uint64),
        small=np.array([looked.small for _, looked in seen], np.uint8).reshape(len(seen), -1),
    )


def hash_picture(picture: Pixels) -> PictureHash:
    grey = shrunk(picture, SEEN)
    return PictureHash(hash_image(Image.fromarray(grey)).hash, shrunk(grey, SMALL).reshape(-1))


def pixels_of(picture: Image.Image) -> Pixels:
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"), np.uint8)[:, :, ::-1])


def nearest(video: HashedVideo, looked: PictureHash) -> tuple[int, float] | None:
    """When the most similar of its pictures is shown, and by how many levels it differs."""
    if not len(video.hashes):
        return None
    bits = np.bitwise_count(video.hashes ^ np.uint64(looked.hash))
    levels = np.abs(video.small.astype(np.int16) - looked.small).mean(axis=1)
    levels[bits > NEAR_BITS] = np.inf
    place = int(levels.argmin())
    return (video.times_ms[place], float(levels[place])) if levels[place] <= NEAR_LEVELS else None


def facts_of(found: Recognised) -> PictureFacts:
    take, copy = found.recipe.take, found.recipe.copy
    is_football = take.kind in {TakeKind.GOAL, TakeKind.PLAY}
    at_ms = copy.starts_ms + found.at_ms * copy.speed_percent // 100
    return PictureFacts(is_football, copy.is_filmed, clock_at(found.recipe, at_ms) if is_football else None)


def clock_at(recipe: Recipe, at_ms: int) -> str | None:
    """As the score bug shows it. There is none in a replay, and nobody reads it in a mirror."""
    take = recipe.take
    if take.look is None or take.look.style is BugStyle.NONE or recipe.copy.is_mirrored:
        return None
    replay_s = cuts_of(take).replay_s
    if replay_s * 1000 < take.length_ms and at_ms >= (replay_s - WIPE_S / 2) * 1000:
        return None
    return " ".join(part for part in clock_text(take, at_ms) if part)


def guess_facts(picture: Image.Image) -> PictureFacts:
    """Much grass is football. Nothing else can be said of a picture that nobody here drew."""
    red, green, blue = (np.asarray(band, np.int16) for band in picture.convert("RGB").resize(SEEN).split())
    grass = (green > 50) & (green > red * 1.12) & (green > blue * 1.25)
    return PictureFacts(bool(grass.mean() >= GRASS_SHARE), screen=False, clock=None)
