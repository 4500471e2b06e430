"""The activities of TwitterWorkflow."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from temporalio import activity

from touchline.watch.model import GoalRef
from touchline.watch.temporal import as_temporal_errors

from .client import SearchClient
from .rules import FoundVideo
from .service import Discovery
from .workflow import Attempt, Discovered, GoalStanding, SearchData, SearchNeed, SearchOrder, Selection, TeamWords

logger = logging.getLogger(__name__)

HEARTBEAT_S = 15.0


@dataclass(frozen=True)
class DiscoveryActivities:
    discovery: Discovery
    client: SearchClient
    get_ready: Callable[[], None] = lambda: None  # for what may be found: told before it is

    @activity.defn(name="set_monitor_complete")
    async def set_monitor_complete(self, goal: GoalRef) -> GoalStanding:
        with as_temporal_errors():
            return await self.discovery.begin(goal, _run_id())

    @activity.defn(name="check_event_exists")
    async def check_event_exists(self, goal: GoalRef) -> GoalStanding:
        with as_temporal_errors():
            return await self.discovery.standing(goal, _run_id())

    @activity.defn(name="save_team_aliases")
    async def save_team_aliases(self, reported: TeamWords) -> None:
        with as_temporal_errors():
            await self.discovery.keep_words(reported)

    @activity.defn(name="update_twitter_attempt")
    async def update_twitter_attempt(self, attempt: Attempt) -> None:
        with as_temporal_errors():
            await self.discovery.count_attempt(attempt)

    @activity.defn(name="get_twitter_search_data")
    async def get_twitter_search_data(self, need: SearchNeed) -> SearchData:
        with as_temporal_errors():
            return await self.discovery.search_data(need)

    @activity.defn(name="execute_twitter_search")
    async def execute_twitter_search(self, order: SearchOrder) -> list[FoundVideo]:
        """Searching twice finds the same again."""
        self.get_ready()
        with as_temporal_errors():
            async with _heartbeats():
                found = await self.client.find(order)
        logger.info("[TWITTER] Search complete", extra={"query": order.query, "found": len(found)})
        return found

    @activity.defn(name="save_discovered_videos")
    async def save_discovered_videos(self, reported: Discovered) -> Selection:
        with as_temporal_errors():
            selection = await self.discovery.keep_found(reported)
        extra = {"event": reported.goal.name, "attempt": reported.number, "found": len(reported.videos)}
        logger.info("[TWITTER] Attempt saved", extra={**extra, "selected": len(selection.videos)})
        if reported.failure:
            logger.warning("[TWITTER] Search failed", extra={**extra, "reason": reported.failure})
        return selection


@asynccontextmanager
async def _heartbeats() -> AsyncGenerator[None]:
    """While the work inside lasts."""
    beating = asyncio.create_task(_beat())
    try:
        yield
    finally:
        beating.cancel()


async def _beat() -> None:
    passed = 0.0
    while True:
        activity.heartbeat(f"searching for {passed:g} s")
        await asyncio.sleep(HEARTBEAT_S)
        passed += HEARTBEAT_S


def _run_id() -> str:
    """Of the workflow that asks."""
    return activity.info().workflow_id or ""
