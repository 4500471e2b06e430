"""What an attempt leaves in the tables: found videos, their states, what is chosen, what the next search is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from tests.support.watch_context import add_goal, annul, at, later, named, workflow_id
from touchline.kernel import ManualClock
from touchline.watch.context import WatchContext
from touchline.watch.discovery import queries
from touchline.watch.discovery.activities import DiscoveryActivities
from touchline.watch.discovery.client import SearchClient
from touchline.watch.discovery.rules import FoundVideo
from touchline.watch.discovery.service import Canary, Discovery
from touchline.watch.discovery.workflow import Attempt, Discovered, SearchNeed, SearchOrder, Selection
from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.settings import DiscoverySettings

from .conftest import AWAY

WORDS = ["Northport", "NFC"]
TEXT = "Sørensen scores for Northport"
ROWS = """
SELECT post_id, state, tries, coalesce(last_try, ''), coalesce(why, ''), attempt FROM watch.found
 WHERE event_id = %(event_id)s ORDER BY post_id, video_index
"""
EVENTS = """
SELECT data ->> 'what', (data ->> 'attempt')::integer FROM platform.event_inbox
 WHERE type = 'goal.changed' ORDER BY occurred_at, id
"""


def video(number: int, text: str = TEXT, **more: Any) -> FoundVideo:
    post_id = str(10**18 + number)
    found = FoundVideo(f"https://x.com/fan/status/{post_id}", post_id, 1, "fan", text, later(1).isoformat(), 12.0, "q")
    return replace(found, **more)


def attempt(
    goal: GoalRef, number: int, *videos: FoundVideo, failure: str | None = None, answered: int = 2
) -> Discovered:
    began = later(number).isoformat()
    label, name = "Northport-Sorensen", "M. Sørensen"
    return Discovered(goal, number, label, name, WORDS, began, list(videos), failure, answered)


def discovery(context: WatchContext, minute: float = 2, **settings: Any) -> Discovery:
    return Discovery(at(context, ManualClock(later(minute))), DiscoverySettings(**settings))


async def rows(context: WatchContext, goal: GoalRef) -> dict[int, tuple[Any, ...]]:
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        found = await (await transaction.connection.execute(ROWS, named(goal))).fetchall()
    return {int(post_id) - 10**18: tuple(rest) for post_id, *rest in found}


def ref(number: int) -> FoundRef:
    return FoundRef(str(10**18 + number))


async def test_the_best_are_chosen_and_the_rest_has_its_turn_later(context: WatchContext) -> None:
    goal = await add_goal(context)
    searching = discovery(context, most_downloads=2)
    found = [video(1, "something else"), video(2), video(3, duration_s=400.0), video(4), video(5)]
    assert await searching.keep_found(attempt(goal, 1, *found)) == Selection([ref(2), ref(4)])
    run = f"download1-Northport-Sorensen-2vids-{goal.name}"
    kept = await rows(context, goal)
    assert kept[2] == ("selected", 1, run, "", 1)
    assert kept[1] == kept[3] == ("seen", 0, "", "", 1)

    assert await searching.keep_found(attempt(goal, 1, *found)) == Selection([ref(2), ref(4)]), (
        "a retry chooses the same"
    )
    assert (await rows(context, goal))[2] == ("selected", 1, run, "", 1)
    assert await searching.keep_found(attempt(goal, 2, video(2), video(6))) == Selection([ref(5), ref(6)])
    assert await searching.keep_found(attempt(goal, 3)) == Selection([ref(1), ref(3)])
    assert await searching.keep_found(attempt(goal, 4)) == Selection([])
    assert (await rows(context, goal))[2] == ("selected", 1, run, "", 1), "found again, it keeps its state"


async def test_an_advert_is_rejected_for_good_and_a_name_is_none(context: WatchContext) -> None:
    goal = await add_goal(context)
    found = [video(1, "Sørensen scored? Odds boosted, sign up today"), video(2, "Adeyemi passes, Sørensen scores")]
    assert await discovery(context).keep_found(attempt(goal, 1, *found)) == Selection([ref(2)])
    assert (await rows(context, goal))[1] == ("rejected", 0, "", "promotion: odds boosted", 1)


async def test_a_search_that_failed_is_shown_and_the_next_looks_further_back(context: WatchContext) -> None:
    goal = await add_goal(context)
    need = SearchNeed(goal, 1, "M. Sørensen", WORDS)
    assert (await discovery(context, 1.5).search_data(need)).max_age_minutes == 3
    await discovery(context, 2).keep_found(attempt(goal, 1, video(1)))
    data = await discovery(context, 2).search_data(replace(need, number=2))
    assert (data.queries, data.max_age_minutes) == (["Sorensen (Northport OR NFC)"], 3)
    data = await discovery(context, 2, queries="each").search_data(replace(need, number=2))
    assert data.queries == ["Sorensen NFC", "Sorensen Northport"]
    assert data.exclude_urls == [video(1).url]

    await discovery(context, 8).keep_found(attempt(goal, 2, video(2), failure="unavailable: gone", answered=1))
    assert await failure_of(context, goal) is None, "some of it worked"
    await discovery(context, 9).keep_found(attempt(goal, 3, failure="unavailable: gone", answered=0))
    assert await failure_of(context, goal) == "unavailable: gone"
    assert (await discovery(context, 9).search_data(need)).max_age_minutes == 9, "since the one of minute 1"
    await discovery(context, 10).keep_found(attempt(goal, 10))
    assert await failure_of(context, goal) is None
    assert (await discovery(context, 11).search_data(need)).max_age_minutes == 3


async def failure_of(context: WatchContext, goal: GoalRef) -> str | None:
    query = "SELECT search_failure FROM watch.goals WHERE event_id = %(event_id)s"
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        row = await (await transaction.connection.execute(query, named(goal))).fetchone()
    assert row
    return row[0]


async def test_nothing_is_written_for_a_goal_that_was_taken_away(context: WatchContext) -> None:
    goal = await add_goal(context)
    await annul(context, goal)
    searching = discovery(context)
    assert await searching.keep_found(attempt(goal, 1, video(1))) == Selection([])
    await searching.count_attempt(Attempt(goal, 1))
    assert (await searching.search_data(SearchNeed(goal, 1, "M. Sørensen", WORDS))).queries == []
    assert (await searching.standing(goal, workflow_id(goal))).lives is False
    assert await rows(context, goal) == {}


async def test_every_step_is_announced_once(context: WatchContext) -> None:
    goal = await add_goal(context)
    searching = discovery(context)
    for _ in range(2):
        await searching.begin(goal, workflow_id(goal))
        await searching.count_attempt(Attempt(goal, 1))
    await searching.keep_found(attempt(goal, 1, video(1)))
    async with context.database.system("test: what was announced") as transaction:
        reported = await (await transaction.connection.execute(EVENTS)).fetchall()
    assert reported == [("searching", None), ("searching", 1), ("searched", 1)]


async def test_the_canary_keeps_what_it_saw(context: WatchContext) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        canary = Canary(context, SearchClient(AWAY, http), AWAY)
        assert (canary.task.every, await canary.task.run_pass()) == (timedelta(hours=1), False)
        await canary.run_pass()
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        state = await queries.search_state(transaction)
    assert state
    assert (state.works, state.failures, state.worked_at) == (False, 2, None)
    assert "the browser role did not answer" in (state.failure or "")


async def test_a_search_that_cannot_be_made_says_why(context: WatchContext) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        activities = DiscoveryActivities(Discovery(context, AWAY), SearchClient(AWAY, http))
        with pytest.raises(ApplicationError, match="the browser role did not answer") as caught:
            await ActivityEnvironment().run(activities.execute_twitter_search, SearchOrder("Sorensen NFC", [], 3))
    assert (caught.value.type, caught.value.non_retryable) == ("unavailable", False)
