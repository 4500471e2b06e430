"""A hundred matches at once, ten goals a minute, told and posted over HTTP by the world; its search answers at once.

The browser that searches is not ours to measure: the search is the world's own, in the words of the browser role. The
videos are drawn beforehand, one for each minute of the matches, and whoever asks gets the one of his minute.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from touchline.kernel import SystemClock
from touchline_world.application import build_app
from touchline_world.days.builder import build
from touchline_world.days.catalogue import get_catalogue
from touchline_world.days.model import Day, Post
from touchline_world.days.script import Script
from touchline_world.days.values import MINUTE
from touchline_world.server import WorldServer
from touchline_world.social.cdn import SlowRate
from touchline_world.social.search import begin_search, find_posts
from touchline_world.videos.library import VideoLibrary, recipes_of
from touchline_world.videos.model import Copy, Recipe
from touchline_world.world import DayClock, World

KICK_OFF = timedelta(minutes=30)  # of the day; everything is played half an hour after it begins
SMALL = 360  # lines
FAST = SlowRate(bytes_per_second=50_000_000)


@dataclass(frozen=True, slots=True)
class Load:
    matches: int = 100
    goals_a_minute: int = 10
    minutes: int = 3


def day_of(load: Load) -> Day:
    """Goals in the minutes from the second on, each with one post a few seconds later."""
    teams = [team.name for _, team in get_catalogue().teams]
    pairs = list(zip(teams[::2], teams[1::2], strict=True))[: load.matches]
    matches = [
        {"home": home, "away": away, "kick_off": "00:30", "chatter": 0, "incidents": _goals(number, load)}
        for number, (home, away) in enumerate(pairs)
    ]
    today = datetime.now(UTC).date().isoformat()
    return build(Script.model_validate({"name": "Load", "date": today, "seed": 7, "matches": matches}))


def _goals(number: int, load: Load) -> list[dict[str, Any]]:
    if number >= load.goals_a_minute * load.minutes:
        return []
    minute, place = divmod(number, load.goals_a_minute)
    posts = {"copies": 1, "transforms": ["small"], "first_after": "5s", "last_after": "6s", "look_alikes": 0}
    second = place * 60 // load.goals_a_minute
    told = {"minute": minute + 2, "second": second, "told_after": "1s", "posts": posts}
    return [{"kind": "goal", "side": "home", **told}]


class Prepared:
    """One file for each minute."""

    def __init__(self, library: VideoLibrary) -> None:
        self._library = library
        self._files: dict[int, Path] = {}

    async def prepare(self, day: Day) -> None:
        for recipe in recipes_of(day):
            minute = _minute(recipe)
            if minute not in self._files:
                small = Recipe(recipe.take, Copy(height=SMALL))
                self._files[minute] = await self._library.file(small)

    async def file(self, recipe: Recipe) -> Path:
        return self._files[_minute(recipe)]


def _minute(recipe: Recipe) -> int:
    """In which the ball goes in."""
    return (recipe.take.clock_ms + (recipe.take.goal_ms or 0)) // MINUTE


@dataclass(frozen=True, slots=True)
class Played:
    world: World
    url: str

    @property
    def kicks_off(self) -> datetime:
        return self.world.clock.starts + KICK_OFF


@asynccontextmanager
async def playing(videos: Prepared, day: Day, port: int, begins_in: timedelta) -> AsyncGenerator[Played]:
    """From now on. The matches kick off when so much time has passed."""
    clock = SystemClock()
    world = World(day, DayClock(clock, clock.now() - KICK_OFF + begins_in), videos)
    routes = [Mount("/browser", routes=_search(world)), Mount("/", app=build_app(world, pace=FAST))]
    async with WorldServer(Starlette(routes=routes), port) as serving:
        yield Played(world, serving.url)


def _search(world: World) -> list[Route]:
    async def search(request: Request) -> JSONResponse:
        asked = await request.json()
        now = world.clock.day_ms()
        found = find_posts(world, begin_search(asked["search_query"], "live", "", now)).posts
        oldest = now - asked["max_age_minutes"] * MINUTE
        root = f"{request.base_url.scheme}://{request.base_url.netloc}/social"
        entries = [_entry(world, root, post) for post in found if post.clips and post.at_ms >= oldest]
        return JSONResponse({"videos": [each for each in entries if each["url"] not in asked["exclude_urls"]]})

    return [Route("/search", search, methods=["POST"])]


def _entry(world: World, root: str, post: Post) -> dict[str, Any]:
    return {
        "url": f"{root}/{post.author.handle}/status/{post.id}",
        "post_id": post.id,
        "video_index": 1,
        "video_count": 1,
        "author": post.author.handle,
        "text": post.text,
        "posted_at": world.clock.at(post.at_ms).isoformat(),
        "duration_s": None,
    }
