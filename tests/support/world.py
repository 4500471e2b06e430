"""A small day by hand, with videos of a second, and a server for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from touchline.kernel import ManualClock
from touchline_world.days.model import (
    Author,
    Clip,
    Day,
    Delivery,
    Fault,
    Fixture,
    Goal,
    League,
    Outcome,
    Phase,
    Player,
    Post,
    Relation,
    ScoreChange,
    Team,
)
from touchline_world.videos.model import BugStyle, Copy, Look, Recipe, Side, Take, TakeKind
from touchline_world.world import DayClock, World

from . import videos

STARTS = datetime(2026, 3, 14, 12, 0, tzinfo=UTC)
MINUTE = 60_000
LENGTH = 180 * MINUTE
RED, WHITE = (200, 30, 40), (240, 240, 240)

LEAGUE = League(39, "Premier League", "England", 2025)
REDS = Team(
    40, "Northport", "NOR", "England", "Northport", "Harbour Road", 1892, False,
    ("Northport", "Northport FC", "The Dockers", "NFC"), "Q8650040", RED, RED,
)  # fmt: skip
WHITES = Team(
    41, "Göteryd", "GÖT", "Sweden", "Göteryd", "Skogsvallen", 1904, True,
    ("Göteryd", "Skogsmän"), "Q8650041", WHITE, WHITE,
)  # fmt: skip
STRIKER = Player(1001, "M. Sørensen", "Mikkel Sørensen")
KEEPER = Player(1002, "K. Ade", "Karl Ade")
FAN = Author("55001", "Dockers Fan", "dockersfan", is_verified=False)
PAPER = Author("55002", "The Northport Echo", "northportecho", is_verified=True)
SHOP = Author("55003", "Boots & Co", "bootsandco", is_verified=True)
LOOK = Look(Side("Northport", "NOR", RED, RED), Side("Göteryd", "GOT", WHITE, WHITE), BugStyle.BAR, 7)


def recipe(seed: int = 1, **copied: object) -> Recipe:
    take = Take(TakeKind.GOAL, seed, 6_000, LOOK, clock_ms=22 * MINUTE, goal_ms=3_000, score_after=(1, 0))
    return Recipe(take, Copy(**{"height": 360, **copied}))  # pyright: ignore[reportArgumentType]


def clip(seed: int = 1, delivery: Delivery = Delivery.WHOLE, **copied: object) -> Clip:
    return Clip(recipe(seed, **copied), Relation.COPY, "9000001/1", delivery)


def post(number: int, minute: float, text: str, *clips: Clip, author: Author = FAN) -> Post:
    goal = "9000001/1" if clips else None
    return Post(str(1_850_000_000_000_000_000 + number), round(minute * MINUTE), author, text, clips, goal)


FIXTURE = Fixture(
    id=9_000_001,
    league=LEAGUE,
    round="Regular Season - 28",
    home=REDS,
    away=WHITES,
    squads=((STRIKER,), (KEEPER,)),
    kick_off_ms=30 * MINUTE,
    phases=(Phase(0, "NS", None, False), Phase(30 * MINUTE, "1H", 0, True, 45), Phase(77 * MINUTE, "FT", 90, False)),
    entries=(),
    scores=(ScoreChange(0, 0, 0), ScoreChange(53 * MINUTE, 1, 0)),
)
GOAL = Goal("9000001/1", 9_000_001, 40, STRIKER, "Normal Goal", 23, None, 53 * MINUTE, (1, 0), Outcome.STANDS)


def day_of(posts: Sequence[Post], faults: Sequence[Fault] = ()) -> Day:
    return Day(
        name="by hand",
        seed=7,
        date=date(2026, 3, 14),
        length_ms=LENGTH,
        leagues=(LEAGUE,),
        teams=((39, REDS), (39, WHITES)),
        fixtures=(FIXTURE,),
        goals=(GOAL,),
        posts=tuple(sorted(posts, key=lambda each: each.at_ms)),
        faults=tuple(faults),
    )


class TinyVideos:
    """Each recipe a real file of its own length, but with a test picture in it."""

    def __init__(self, folder: Path) -> None:
        self._studio, self._lock = videos.Studio(folder), asyncio.Lock()

    async def file(self, recipe: Recipe) -> Path:
        wanted = videos.Recipe(
            f"{recipe.key}.mp4",
            seconds=recipe.take.length_ms / 1000,
            audio=None,
            filters=(("hue", f"h={recipe.take.seed * 37}"),),
            encoder={"preset": "ultrafast", "g": "50", "crf": str(recipe.copy.quality)},
            muxer={"movflags": "+faststart"},
        )
        async with self._lock:
            return await asyncio.to_thread(self._studio.make, wanted)


def world_of(day: Day, folder: Path, minute: float = 60) -> tuple[World, ManualClock]:
    wall = ManualClock(STARTS + timedelta(minutes=minute))
    return World(day, DayClock(wall, STARTS), TinyVideos(folder)), wall


def quoting(quoting_post: Post, quoted: Post) -> Post:
    return replace(quoting_post, quoted=quoted)


def promoted(each: Post) -> Post:
    return replace(each, is_promoted=True)


@asynccontextmanager
async def served(app: object) -> AsyncGenerator[str]:
    """Over real HTTP, on a free port."""
    from touchline_world.server import WorldServer

    async with WorldServer(app, port=0) as serving:  # pyright: ignore[reportArgumentType]
        yield serving.url
