"""What `touchline demo` tells once everything is ready: each goal as it goes, then the day beside its truth.

Invariant: it only reads, as anybody may; what it tells happened in the product.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx

from touchline.apps import wiring
from touchline.apps.cli.search import find
from touchline.apps.gateway_client import Access
from touchline.apps.settings import Loaded
from touchline.apps.up import Tell
from touchline.apps.watch_operations import watch_tenant
from touchline.gateway.auth.authentication import build_administration
from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.service import FIRST_OPERATOR, first_sign_in_link
from touchline.gateway.auth.sessions.service import link_url
from touchline.kernel import SystemClock, TenantId, Unavailable
from touchline.platform.postgres.database import Database
from touchline.watch import queries
from touchline.watch.views.rules import Goal, Match

from .comparison import Compared, compare, ended

LOOK_EVERY_S = 0.5
PATIENCE = timedelta(minutes=6)  # a slow machine may need more than the day takes

Goals = Mapping[int, Sequence[Goal]]


async def sign_in_link(loaded: Loaded) -> str:
    """Once, to the matches."""
    clock, base_url = SystemClock(), wiring.gateway_url(loaded)
    async with wiring.open_database(loaded) as database:
        await first_sign_in_link(database, base_url, loaded.settings.auth, clock)  # so that there is somebody
        administration = build_administration(database, loaded.settings.auth, clock)
        user = await administration.users.by_email(COMMAND_LINE, FIRST_OPERATOR.email)
        link = await administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    return link_url(base_url, link, then="/matches")


async def world_document(url: str, path: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=url, trust_env=False) as world:
        answer = await world.get(f"/world/{path}")
        return answer.raise_for_status().json()


@dataclass
class Follower:
    """Follows the day until its matches and every goal's search are over."""

    loaded: Loaded
    truth: Mapping[str, Any]
    report: Tell

    async def follow(self) -> list[Compared]:
        reported: dict[tuple[str, int], str] = {}
        goals: Goals = {}
        matches: Mapping[int, Match] = {}
        async with wiring.open_database(self.loaded) as database:
            tenant = await watch_tenant(database, self.loaded.settings.watch.tenant)
            try:
                async with asyncio.timeout(PATIENCE.total_seconds()):
                    while not ended(self.truth, goals, matches):
                        await asyncio.sleep(LOOK_EVERY_S)
                        with suppress(Unavailable):  # a part that died comes back
                            goals, matches = await self._seen(database, tenant)
                            self._report_changes(reported, goals)
            except TimeoutError:
                self.report("The match day took longer than expected; these are the results so far.")
        return compare(self.truth, goals)

    async def _seen(self, database: Database, tenant: TenantId) -> tuple[Goals, Mapping[int, Match]]:
        ids = [match["id"] for match in self.truth["matches"]]
        async with database.transaction(tenant) as transaction:
            return await queries.goals_of_matches(transaction, ids), await queries.matches(transaction, ids)

    def _report_changes(self, reported: dict[tuple[str, int], str], goals: Goals) -> None:
        now = {goal.key: goal for match in goals.values() for goal in match}
        for key, goal in now.items():
            line = describe(goal)
            if reported.get(key) != line:
                self.report(line)
                reported[key] = line
        for key in reported.keys() - now.keys():
            self.report(f"{reported.pop(key).partition(':')[0]}: annulled")


def describe(goal: Goal) -> str:
    score = f"{goal.home_score}-{goal.away_score}"
    minute = f"{goal.minute}+{goal.extra}" if goal.extra else str(goal.minute)
    return f"{goal.team_name} {score}, {goal.player_name or 'scorer unknown'} {minute}': {_state(goal)}"


def _state(goal: Goal) -> str:
    if goal.videos:
        best = goal.videos[0]
        times = f", found {best.popularity} times" if best.popularity > 1 else ""
        return f"{len(goal.videos)} video{'s' if len(goal.videos) > 1 else ''}{times}"
    if goal.download_complete:
        return "no video"
    return "searching" if goal.monitor_complete else "seen"


async def found_by_search(truth: Mapping[str, Any], within: timedelta) -> str | None:
    """Where a scorer's caption plays, as the search finds it; None when nothing was read in time."""
    words = [goal["player"]["name"].split()[-1] for goal in truth["goals"] if goal["outcome"] == "stands"]
    try:
        async with asyncio.timeout(within.total_seconds()):
            while True:
                for word in words:
                    if (hit := await _first_hit(word)) and hit["url"]:
                        return f"`touchline search {word}` finds “{hit['text']}” and plays it at {hit['url']}"
                await asyncio.sleep(1)
    except TimeoutError:
        return None


async def _first_hit(word: str) -> Mapping[str, Any] | None:
    with suppress(Unavailable):
        hits = (await find(Access("", None, FIRST_OPERATOR.email), word, "relevance", 1, ""))["hits"]
        return hits[0] if hits else None
    return None
