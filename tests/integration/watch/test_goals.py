"""Polls against the real tables: what is written, announced and shown, also when others write at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.events import new_tenant
from tests.support.goals import AWAY, FIXTURE_ID, HOME, NOW, POLL, SETTINGS, Memory, entry, match
from tests.support.match_days import POLLS, random_day
from touchline.kernel import TenantId
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.database import Database
from touchline.watch.fixtures.feed_documents import FeedFixture
from touchline.watch.goals.model import Applied, StoredGoal
from touchline.watch.goals.service import apply_poll, close_overdue
from touchline.watch.goals.store import GoalStore
from touchline.watch.model import GoalRef

OTHER = 234
SALAH_GOAL = GoalRef(FIXTURE_ID, "5000_40_306_Goal_1")
OTHER_GOAL = GoalRef(FIXTURE_ID, "5000_40_234_Goal_1")
ADD_FIXTURE = """
INSERT INTO watch.fixtures (tenant_id, id, stage, status, kick_off, home_id, home_name, away_id, away_name, raw,
                            first_seen)
VALUES (platform.current_tenant(), %(id)s, 'active', '1H', %(now)s, %(home_id)s, 'Liverpool', %(away_id)s,
        'Manchester City', '{"fixture": {"id": 5000}}', %(now)s)
"""
ADD_VIDEO = """
INSERT INTO watch.videos (tenant_id, artifact_hash, event_id, generation, object_key, md5, size_bytes, duration_ms,
                          width, height, fingerprint, verified, source_url, rank, archived_at)
SELECT platform.current_tenant(), %(hash)s, %(event_id)s, %(generation)s, 'watch/a.mp4', %(hash)s, 1000, 9000, 640, 360,
       'dense:0.25:', true, 'https://x.com/a/status/1', 1 + count(*), %(now)s
  FROM watch.videos WHERE event_id = %(event_id)s AND generation = %(generation)s AND state = 'kept'
"""
ADD_FOUND = """
INSERT INTO watch.found (tenant_id, event_id, generation, post_id, url, found_at, attempt)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, '1850000000000000001', 'https://x.com/a/status/1',
        %(now)s, 1)
"""
VIDEOS = "SELECT artifact_hash, event_id, generation, state FROM watch.videos ORDER BY artifact_hash"
REVISIONS = "SELECT event_id, revision FROM watch.goals ORDER BY event_id"
EVENTS = "SELECT type, key, revision, data FROM platform.event_inbox ORDER BY sequence"


@dataclass(slots=True)
class Watched:
    """A match of a tenant, polled."""

    database: Database
    tenant_id: TenantId
    runs: int = 0
    now: datetime = field(default=NOW)

    async def poll(self, fixture: FeedFixture, run_id: str | None = None) -> Applied:
        self.runs += 1
        self.now = NOW + self.runs * POLL
        async with self.database.transaction(self.tenant_id) as transaction:
            return await apply_poll(transaction, fixture, run_id or f"run-{self.runs}", self.now, SETTINGS)

    async def polls(self, fixture: FeedFixture, count: int = 3) -> Applied:
        return [await self.poll(fixture) for _ in range(count)][-1]

    async def execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        async with self.database.transaction(self.tenant_id) as transaction:
            cursor = await transaction.connection.execute(statement.encode(), {"now": NOW, **values})
            return await cursor.fetchall() if cursor.description else []

    async def add_video(self, name: str, goal: GoalRef) -> None:
        await self.execute(ADD_VIDEO, hash=name, event_id=goal.event_id, generation=goal.generation)

    async def goals(self) -> dict[GoalRef, StoredGoal]:
        async with self.database.transaction(self.tenant_id) as transaction:
            held = await GoalStore(transaction.connection).hold_match(FIXTURE_ID)
        return {goal.ref: goal for goal in held.goals} if held else {}

    async def events(self, event_type: str) -> list[tuple[str, int, dict[str, Any]]]:
        async with self.database.system("test: read events") as transaction:
            rows = await (await transaction.connection.execute(EVENTS.encode())).fetchall()
        return [row[1:] for row in rows if row[0] == event_type]

    async def document(self, view: str = "fixtures_active") -> dict[str, Any] | None:
        rows = await self.execute(f"SELECT document FROM watch.{view}")  # noqa: S608  names of views
        return rows[0][0] if rows else None


@pytest.fixture
async def watched(postgres: PostgresEndpoint) -> AsyncGenerator[Watched]:
    async with Database(postgres.worker_url) as database:
        watched = Watched(database, new_tenant())
        await watched.execute(ADD_FIXTURE, id=FIXTURE_ID, home_id=HOME.id, away_id=AWAY.id)
        yield watched


async def test_a_goal_from_first_sight_to_its_search(watched: Watched) -> None:
    listed = match(entry("45+3"))
    assert [len((await watched.poll(listed)).triggered) for _ in range(3)] == [0, 0, 1]
    [triggered] = (await watched.poll(listed)).triggered
    assert triggered.goal == SALAH_GOAL
    assert triggered.workflow_id == "twitter-Liverpool-Salah-45+3min-5000_40_306_Goal_1"
    said = [(revision, data["what"]) for _, revision, data in await watched.events("goal.changed")]
    assert said == [(1, "seen"), (2, "seen"), (3, "stable")]


async def test_the_same_run_again_changes_nothing_and_starts_the_same(watched: Watched) -> None:
    await watched.polls(match(entry(10)), 2)
    first = await watched.poll(match(entry(10)), "the third")
    before = await watched.goals(), await watched.execute(REVISIONS), len(await watched.events("goal.changed"))
    assert await watched.poll(match(entry(10)), "the third") == first
    assert (
        await watched.goals(),
        await watched.execute(REVISIONS),
        len(await watched.events("goal.changed")),
    ) == before


async def test_an_annulled_goal_goes_with_everything_and_is_shown_nowhere(watched: Watched) -> None:
    await watched.polls(match(entry(10), entry(70, OTHER)))
    await watched.add_video("a" * 32, SALAH_GOAL)
    await watched.add_video("b" * 32, OTHER_GOAL)
    applied = await watched.polls(match(entry(70, OTHER)))
    assert applied.removed == (SALAH_GOAL,)
    states = {row[0]: row[3] for row in await watched.execute(VIDEOS)}
    assert states == {"a" * 32: "dropped", "b" * 32: "kept"}
    document = await watched.document()
    assert document
    assert [event["_event_id"] for event in document["events"]] == [OTHER_GOAL.event_id]
    assert (await watched.events("goal.changed"))[-2][2]["what"] == "removed"
    [(_, _, dropped)] = await watched.events("goal.video_dropped")
    assert (dropped["artifact_hash"], dropped["why"]) == ("a" * 32, "annulled")


async def test_a_reattributed_goal_takes_its_videos_along(watched: Watched) -> None:
    await watched.polls(match(entry(10)))
    await watched.add_video("a" * 32, SALAH_GOAL)
    await watched.execute(ADD_FOUND, event_id=SALAH_GOAL.event_id, generation=1)
    await watched.polls(match(entry(11, OTHER)), 2)
    await watched.add_video("b" * 32, OTHER_GOAL)
    applied = await watched.poll(match(entry(11, OTHER)))
    assert applied.moved == ((SALAH_GOAL, OTHER_GOAL),)
    assert [row[1:] for row in await watched.execute(VIDEOS)] == [(OTHER_GOAL.event_id, 1, "kept")] * 2
    async with watched.database.transaction(watched.tenant_id) as transaction:
        store = GoalStore(transaction.connection)
        assert await store.living(SALAH_GOAL) == await store.hold(SALAH_GOAL) == OTHER_GOAL
        assert not await store.is_over(SALAH_GOAL)
        assert await store.is_over(GoalRef(FIXTURE_ID, "5000_40_1_Goal_1"))
    document = await watched.document()
    assert document
    [event] = document["events"]
    assert [video["rank"] for video in event["_s3_videos"]] == [1, 2]
    assert len(event["_discovered_videos"]) == 1


async def test_overdue_goals_end_and_say_why(watched: Watched) -> None:
    await watched.polls(match(entry(10), entry(20, None)))
    async with watched.database.transaction(watched.tenant_id) as transaction:
        await close_overdue(transaction, FIXTURE_ID, NOW + timedelta(days=2), SETTINGS)
        await close_overdue(transaction, FIXTURE_ID, NOW + timedelta(days=2), SETTINGS)
    outcomes = {goal.ref.event_id: goal.outcome for goal in (await watched.goals()).values()}
    assert outcomes == {SALAH_GOAL.event_id: "search_unavailable", "5000_40_unknown_Goal_1": "unidentified"}
    ended = [data["outcome"] for _, _, data in await watched.events("goal.changed") if data["what"] == "complete"]
    assert sorted(ended) == ["search_unavailable", "unidentified"]


async def test_a_match_that_is_completed_or_unknown_is_left_alone(watched: Watched) -> None:
    assert await watched.poll(match(entry(10), id=77)) == Applied()
    await watched.execute("UPDATE watch.fixtures SET stage = 'completed'")
    assert await watched.poll(match(entry(10))) == Applied()
    assert not await watched.execute(REVISIONS)


async def test_two_polls_at_once_are_one_after_the_other(watched: Watched) -> None:
    await watched.polls(match(entry(10)), 1)
    await asyncio.gather(*(watched.poll(match(entry(10), entry(30, OTHER)), f"at once {n}") for n in range(4)))
    goals = await watched.goals()
    assert {ref.name for ref in goals} == {SALAH_GOAL.name, OTHER_GOAL.name}
    assert all(len(goal.monitor_workflows) == 3 for goal in goals.values())


async def test_a_poll_never_touches_what_others_add(watched: Watched) -> None:
    """A search and an upload write their columns while polls write the feed's."""
    await watched.polls(match(entry(10)))

    async def add(number: int) -> None:
        async with watched.database.transaction(watched.tenant_id) as transaction:
            living = await GoalStore(transaction.connection).hold(SALAH_GOAL)
            assert living == SALAH_GOAL
            await transaction.connection.execute(
                b"UPDATE watch.goals SET download_workflows = download_workflows || %s::text, twitter_attempt = %s,"
                b" monitor_complete = true",
                (f"download{number}", number),
            )

    changes = [watched.poll(match(entry(10 + n % 2, detail=f"told {n}"))) for n in range(6)]
    await asyncio.gather(*changes, *(add(number) for number in range(6)))
    document = await watched.document()
    assert document
    [event] = document["events"]
    assert sorted(event["_download_workflows"]) == [f"download{number}" for number in range(6)]
    assert event["_monitor_complete"] is True


async def test_an_upload_beside_the_poll_that_annuls_is_before_or_after_it(watched: Watched) -> None:
    """Whoever holds the goal writes first: a video is dropped with its goal, or never comes."""
    await watched.polls(match(entry(10)))
    await watched.polls(match(), 2)

    async def upload() -> None:
        async with watched.database.transaction(watched.tenant_id) as transaction:
            if await GoalStore(transaction.connection).hold(SALAH_GOAL):
                values = {"hash": "a" * 32, "event_id": SALAH_GOAL.event_id, "generation": 1, "now": NOW}
                await transaction.connection.execute(ADD_VIDEO.encode(), values)

    await asyncio.gather(upload(), watched.poll(match()))
    assert all(row[3] == "dropped" for row in await watched.execute(VIDEOS))


async def test_documents_have_the_fields_that_people_know(watched: Watched) -> None:
    await watched.polls(match(entry(10, raw={"detail": "Normal Goal"})))
    await watched.execute(
        "UPDATE watch.fixtures SET live = '{\"events\": []}', live_run = 'run', last_monitor = %(now)s"
    )
    document = await watched.document()
    assert document
    assert (document["_id"], document["_completion_count"], document["fixture"]) == (FIXTURE_ID, 0, {"id": FIXTURE_ID})
    assert document["_last_monitor"]
    [event] = document["events"]
    assert event.pop("_first_seen")
    assert event == {
        "detail": "Normal Goal",
        "_event_id": SALAH_GOAL.event_id,
        "_generation": 1,
        "_monitor_workflows": ["run-1", "run-2", "run-3"],
        "_monitor_count": 3,
        "_monitor_complete": False,
        "_twitter_aliases": [],
        "_twitter_attempt": 0,
        "_twitter_count": 0,
        "_twitter_complete": False,
        "_discovered_videos": [],
        "_download_workflows": [],
        "_download_complete": False,
        "_s3_videos": [],
        "_removed": False,
        "_outcome": None,
    }
    live = await watched.document("fixtures_live")
    assert live
    assert (live["_id"], live["events"]) == (FIXTURE_ID, [])
    assert await watched.document("fixtures_staging") is None
    assert await watched.document("fixtures_completed") is None
    assert await watched.document("team_aliases") is None


async def test_another_tenant_sees_nothing_of_it(watched: Watched) -> None:
    await watched.polls(match(entry(10)))
    stranger = Watched(watched.database, new_tenant())
    assert await stranger.document() is None
    assert await stranger.goals() == {}


@pytest.mark.parametrize("seed", [3, 11])
async def test_the_tables_hold_what_the_rules_decided(watched: Watched, seed: int) -> None:
    """A random day, in memory and in the tables."""
    day, memory = random_day(seed), Memory()
    assert day.goals
    for poll in range(POLLS):
        if answer := day.answer(poll):
            memory.runs = watched.runs
            memory.poll(answer, f"monitor-{poll}")
            await watched.poll(answer, f"monitor-{poll}")
    assert await watched.goals() == memory.goals
