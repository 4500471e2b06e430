"""From a day to a world that can be served: its videos drawn, its clock laid on the wall.

Invariant: with a fixed beginning, the same day is the same world at the same moment, however often it is opened.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from touchline.kernel.clock import Clock, SystemClock

from .clock import DayClock
from .context import World
from .days.model import Day
from .videos.library import Library
from .videos.wanted import recipes_of


@dataclass(frozen=True, slots=True)
class Plan:
    day: Day
    folder: Path  # of the videos
    speed: float = 1.0
    starts_in: timedelta = timedelta(minutes=2)  # until the first kick-off, counted when everything is ready
    starts_at: datetime | None = None  # of the first kick-off; wins
    prepares: bool = True


@asynccontextmanager
async def open_world(
    plan: Plan, progress: Callable[[str], None], stopped: asyncio.Event, wall: Clock | None = None
) -> AsyncGenerator[World | None]:
    """None: it was stopped before it was ready."""
    wall = wall or SystemClock()
    async with Library(plan.folder) as library:
        if plan.prepares and not await _prepared(library, plan.day, progress, stopped):
            yield None
            return
        clock = lay_on_wall(plan, wall)
        progress(f"{plan.day.name}: the first match kicks off at {clock.at(first_kick_off_ms(plan.day)):%H:%M:%S} UTC.")
        yield World(plan.day, clock, library)


def lay_on_wall(plan: Plan, wall: Clock) -> DayClock:
    kick_off = plan.starts_at or wall.now() + plan.starts_in
    if kick_off.tzinfo is None:
        kick_off = kick_off.replace(tzinfo=UTC)
    before = timedelta(milliseconds=first_kick_off_ms(plan.day) / plan.speed)
    return DayClock(wall, kick_off.astimezone(UTC) - before, plan.speed)


def first_kick_off_ms(day: Day) -> int:
    return min((fixture.kick_off_ms for fixture in day.fixtures), default=0)


async def _prepared(library: Library, day: Day, progress: Callable[[str], None], stopped: asyncio.Event) -> bool:
    def told(done: int, of: int) -> None:
        progress(f"{done} of {of} videos are there")

    making = asyncio.create_task(library.prepare(recipes_of(day), told))
    stopping = asyncio.create_task(stopped.wait())
    await asyncio.wait({making, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if making.done():
        await making
        return True
    making.cancel()
    return False
