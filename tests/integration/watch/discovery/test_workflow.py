"""TwitterWorkflow by a server that skips time, with its activities on a real database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowHandle

from tests.support.download_runs import BREAKS_OFF
from tests.support.watch_context import add_goal, annul, move, named, workflow_id
from touchline.watch.aliases.workflow import RAGInput, RAGWorkflow, rag_workflow_id
from touchline.watch.context import WatchContext
from touchline.watch.discovery.rules import FoundVideo
from touchline.watch.discovery.store import DiscoveryStore, Seen
from touchline.watch.discovery.workflow import TwitterInput, TwitterResult, TwitterWorkflow
from touchline.watch.model import GoalRef

from .conftest import ATTEMPTS, Bench, calls, rests

INTERVAL_S, REST_S = 60.0, 10.0
FAILING_S = 24.9  # three tries of a search that cannot be made, with their pauses
ROW = """
SELECT monitor_complete, search_started_at, twitter_aliases, twitter_attempt, searched_at, search_failure,
       download_started, download_workflows, download_complete, outcome
  FROM watch.goals WHERE event_id = %(event_id)s AND generation = %(generation)s
"""
STATES = "SELECT state, count(*) FROM watch.found WHERE event_id = %(event_id)s GROUP BY state ORDER BY state"


def reported(goal: GoalRef, **more: Any) -> TwitterInput:
    given = TwitterInput(
        goal, "Northport-Sorensen", "M. Sørensen", 40, "Northport", 41, "Göteryd", own_goal=False,
        attempts=ATTEMPTS, interval_s=INTERVAL_S, rest_s=REST_S,
    )  # fmt: skip
    return replace(given, **more)


async def start(bench: Bench, given: TwitterInput) -> WorkflowHandle[TwitterWorkflow, TwitterResult]:
    return await bench.environment.client.start_workflow(
        TwitterWorkflow.run, given, id=workflow_id(given.goal), task_queue=bench.queue
    )


async def row(context: WatchContext, goal: GoalRef) -> dict[str, Any]:
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        cursor = await transaction.connection.execute(ROW, named(goal))
        found = await cursor.fetchone()
        assert found
        assert cursor.description
        return {column.name: value for column, value in zip(cursor.description, found, strict=True)}


async def states(context: WatchContext, goal: GoalRef) -> dict[str, int]:
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        return dict(await (await transaction.connection.execute(STATES, named(goal))).fetchall())


async def see(context: WatchContext, goal: GoalRef, count: int) -> None:
    """As if an earlier search had found so many."""
    videos = [
        FoundVideo(f"https://x.com/fan/status/{number}", str(number), 1) for number in range(10**18, 10**18 + count)
    ]
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        await DiscoveryStore(transaction.connection).keep(goal, [Seen(video) for video in videos], 1, datetime.now(UTC))


async def test_attempts_come_a_minute_apart_though_no_search_works(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    handle = await start(bench, reported(goal))
    assert await handle.result() == TwitterResult(attempts=10, found=0, selected=0, failed_searches=10)
    events = await bench.history(handle)
    assert [took + slept for took, slept in rests(events)] == pytest.approx([INTERVAL_S] * 9, abs=0.01)
    assert calls(events, "execute_twitter_search") == 10, "one query shows that nobody searches"
    assert len(events) < 500

    found = await row(bench.context, goal)
    assert (found["monitor_complete"], found["twitter_attempt"]) == (True, 10)
    assert found["search_failure"].startswith("unavailable: the browser role did not answer")
    assert found["searched_at"] is None
    assert found["twitter_aliases"] == ["Northport"]
    assert len(found["download_workflows"]) == 10
    assert found["download_workflows"][0] == f"download1-Northport-Sorensen-0vids-{goal.name}"
    assert (found["download_complete"], found["outcome"]) == (True, "search_unavailable")


async def test_a_slow_attempt_leaves_a_rest(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    handle = await start(bench, reported(goal, attempts=3, interval_s=30.0))
    await handle.result()
    found = rests(await bench.history(handle, "twitter-unavailable"))
    assert all(took > FAILING_S for took, _ in found)
    assert [slept for _, slept in found] == [REST_S] * 2


async def test_no_search_waits_for_a_download_and_two_run_at_once(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    await see(bench.context, goal, 23)
    handle = await start(bench, reported(goal))
    result = await handle.result()
    assert (result.attempts, result.selected) == (10, 28), "those of the run that broke off got another try"
    events = await bench.history(handle, "twitter-downloads")
    assert [took + slept for took, slept in rests(events)] == pytest.approx([INTERVAL_S] * 9, abs=0.01)
    steps = [STEPS[event.event_type] for event in events if event.event_type in STEPS]
    running = list(accumulate(steps))
    assert (steps.count(1), max(running), running[-1]) == (6, 2, 0)
    assert len(events) < 500

    found = await row(bench.context, goal)
    assert len(found["download_started"]) == 6
    assert f"download{BREAKS_OFF}-Northport-Sorensen-5vids-{goal.name}" in found["download_workflows"]
    assert len(found["download_workflows"]) == 10
    assert found["download_complete"] is True
    assert await states(bench.context, goal) == {"rejected": 23}


STEPS = {
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED: 1,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: -1,
    EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED: -1,
}


async def test_a_goal_that_was_taken_away_is_not_searched_for(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    await annul(bench.context, goal)
    handle = await start(bench, reported(goal))
    assert await handle.result() == TwitterResult(0, 0, 0, 0, over=True)
    assert (await row(bench.context, goal))["monitor_complete"] is False


async def test_a_goal_that_is_taken_away_ends_its_search(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    with bench.environment.auto_time_skipping_disabled():
        handle = await start(bench, reported(goal))
        await until_attempt(bench.context, goal, 1)
        await annul(bench.context, goal)
    result = await handle.result()
    assert (result.attempts, result.over) == (1, True)
    await bench.history(handle, "twitter-annulled")
    assert (await row(bench.context, goal))["download_complete"] is False


@pytest.mark.parametrize("has_own_search", [False, True])
async def test_a_goal_with_another_scorer_is_searched_for_once(bench: Bench, has_own_search: bool) -> None:
    goal = await add_goal(bench.context)
    with bench.environment.auto_time_skipping_disabled():
        handle = await start(bench, reported(goal, attempts=2))
        await until_attempt(bench.context, goal, 1)
        other = await add_goal(bench.context, player=1002)
        if has_own_search:
            async with bench.context.database.transaction(bench.context.owner.tenant_id) as transaction:
                await DiscoveryStore(transaction.connection).begin(other, datetime.now(UTC))
        await move(bench.context, goal, other)
    result = await handle.result()
    assert (result.attempts, result.over) == ((1, True) if has_own_search else (2, False))
    assert (await row(bench.context, other))["twitter_attempt"] == (0 if has_own_search else 2)


async def test_an_own_goal_is_searched_with_the_words_of_both(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    client = bench.environment.client
    made = await client.start_workflow(
        RAGWorkflow.run, RAGInput(41, "Göteryd BK"), id=rag_workflow_id(41, datetime.now(UTC)), task_queue=bench.queue
    )
    assert await made.result() == ["Göteryd"]
    await bench.history(made, "rag-made")
    handle = await start(bench, reported(goal, attempts=1, own_goal=True))
    await handle.result()
    assert (await row(bench.context, goal))["twitter_aliases"] == ["Northport", "Göteryd"]
    events = await bench.history(handle, "twitter-own-goal")
    assert calls(events, "get_team_aliases") == 1, "those of the other were kept"


async def test_a_database_that_is_away_for_a_while_loses_nothing(bench: Bench) -> None:
    goal = await add_goal(bench.context)
    bench.registering.away = 12  # more than two calls with all their tries
    handle = await start(bench, reported(goal, attempts=1))
    assert (await handle.result()).attempts == 1
    events = await bench.history(handle, "twitter-patience-timers")
    assert calls(events, "register_download") == 3
    assert len((await row(bench.context, goal))["download_workflows"]) == 1


async def until_attempt(context: WatchContext, goal: GoalRef, number: int) -> None:
    async with asyncio.timeout(30):
        while (await row(context, goal))["twitter_attempt"] < number:
            await asyncio.sleep(0.02)
