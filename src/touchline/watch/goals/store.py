"""All SQL of goals, inside one tenant.

Invariant: a poll holds the row of its match and those of all its goals, so of two polls one sees what the other did; it
writes the feed's columns and the watching of them, never what searches and uploads add.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString

from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one
from touchline.watch.fixtures.feed_documents import FeedGoal, Team
from touchline.watch.model import GoalRef

from .model import Removal, Score, StoredGoal

HOLD_FIXTURE: LiteralString = """
-- Only while it is followed: what is completed does not change any more.
SELECT applied_run FROM watch.fixtures
 WHERE tenant_id = (SELECT platform.current_tenant()) AND id = %(fixture_id)s AND stage <> 'completed'
   FOR NO KEY UPDATE
"""
HOLD_GOALS: LiteralString = """
-- Always in one order, and as strongly as whoever drops or moves videos will need them.
SELECT event_id, generation, fixture_id, team_id, team_name, player_id, player_name, type, detail, minute, extra,
       home_score, away_score, raw, sequence, first_seen, monitor_workflows, absent_workflows, stable_at, workflow_id,
       label, monitor_complete, search_started_at, download_complete, outcome, removed_at, removal, moved_to,
       moved_generation
  FROM watch.goals
 WHERE tenant_id = (SELECT platform.current_tenant()) AND fixture_id = %(fixture_id)s
 ORDER BY event_id, generation
   FOR UPDATE
"""
APPLY: LiteralString = """
UPDATE watch.fixtures SET applied_run = %(run_id)s
 WHERE tenant_id = (SELECT platform.current_tenant()) AND id = %(fixture_id)s
"""
ADD: LiteralString = """
INSERT INTO watch.goals (tenant_id, event_id, generation, fixture_id, team_id, team_name, player_id, player_name, type,
                         detail, minute, extra, home_score, away_score, raw, sequence, first_seen, monitor_workflows,
                         absent_workflows, stable_at, workflow_id, label)
VALUES (platform.current_tenant(), %(event_id)s, %(generation)s, %(fixture_id)s, %(team_id)s, %(team_name)s,
        %(player_id)s, %(player_name)s, %(type)s, %(detail)s, %(minute)s, %(extra)s, %(home_score)s, %(away_score)s,
        %(raw)s, %(sequence)s, %(first_seen)s, %(monitor_workflows)s, %(absent_workflows)s, %(stable_at)s,
        %(workflow_id)s, %(label)s)
RETURNING revision
"""
SAVE: LiteralString = """
UPDATE watch.goals
   SET team_name = %(team_name)s, player_id = %(player_id)s, player_name = %(player_name)s, detail = %(detail)s,
       minute = %(minute)s, extra = %(extra)s, home_score = %(home_score)s, away_score = %(away_score)s, raw = %(raw)s,
       monitor_workflows = %(monitor_workflows)s, absent_workflows = %(absent_workflows)s, stable_at = %(stable_at)s,
       workflow_id = %(workflow_id)s, label = %(label)s, removed_at = %(removed_at)s, removal = %(removal)s,
       moved_to = %(moved_to)s, moved_generation = %(moved_generation)s,
       revision = revision + CASE WHEN %(visible)s THEN 1 ELSE 0 END
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND removed_at IS NULL
RETURNING revision
"""
REOPEN: LiteralString = """
UPDATE watch.goals SET download_complete = false, completed_at = NULL, outcome = NULL
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
"""
CLOSE: LiteralString = """
UPDATE watch.goals
   SET download_complete = true, completed_at = %(now)s, outcome = %(outcome)s, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND removed_at IS NULL AND NOT download_complete
RETURNING revision
"""
LIVING: LiteralString = """
SELECT g.fixture_id, g.event_id, g.generation
  FROM watch.living_goal(%(event_id)s, %(generation)s) AS l
  JOIN watch.goals AS g
    ON g.tenant_id = (SELECT platform.current_tenant()) AND g.event_id = l.event_id AND g.generation = l.generation
"""
HOLD: LiteralString = """
SELECT fixture_id, event_id, generation FROM watch.goals
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND removed_at IS NULL
   FOR UPDATE
"""


@dataclass(frozen=True, slots=True)
class HeldMatch:
    applied_run: str | None  # the monitor run whose answer was compared last
    goals: Sequence[StoredGoal]  # living or not


SEARCH_AGAIN: LiteralString = """
-- Only one whose search is over, or whose search by hand never began: the first search is started by the look at its
-- match that trusts it. The next run has an id of its own.
UPDATE watch.goals
   SET workflow_id = regexp_replace(workflow_id, '-again[0-9]+$', '') || '-again'
                     || (coalesce(substring(workflow_id FROM '-again([0-9]+)$')::int, 0) + 1),
       monitor_complete = false, search_started_at = NULL, twitter_attempt = 0, search_failure = NULL,
       download_started = '{}', download_workflows = '{}', download_complete = false, completed_at = NULL,
       outcome = NULL, revision = revision + 1
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND removed_at IS NULL AND workflow_id IS NOT NULL
   AND (download_complete OR (NOT monitor_complete AND workflow_id ~ '-again[0-9]+$'))
RETURNING workflow_id, label, revision
"""
PUT_BATCHES_ASIDE: LiteralString = """
-- The attempts of the next run have the numbers of these.
UPDATE watch.upload_batches SET batch_id = batch_id || '~' || to_char(queued_at, 'YYYYMMDDHH24MISSMS')
 WHERE tenant_id = (SELECT platform.current_tenant()) AND event_id = %(event_id)s AND generation = %(generation)s
   AND archived_at IS NOT NULL
"""


class GoalStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def hold_match(self, fixture_id: int) -> HeldMatch | None:
        """A match and all its goals until the transaction ends; None when it is not followed."""
        values = {"fixture_id": fixture_id}
        row = await (await self._connection.execute(HOLD_FIXTURE, values)).fetchone()
        if row is None:
            return None
        return HeldMatch(row[0], await fetch_all(self._connection, _stored, HOLD_GOALS, **values))

    async def applied(self, fixture_id: int, run_id: str) -> None:
        await self._connection.execute(APPLY, {"fixture_id": fixture_id, "run_id": run_id})

    async def add(self, goal: StoredGoal) -> int:
        return await self._revision(ADD, _columns(goal))

    async def save(self, goal: StoredGoal, *, visible: bool) -> int:
        return await self._revision(SAVE, {**_columns(goal), "visible": visible})

    async def reopen(self, goal: GoalRef) -> None:
        await self._connection.execute(REOPEN, _this(goal))

    async def close(self, goal: StoredGoal, now: datetime) -> int:
        return await self._revision(CLOSE, {**_this(goal.ref), "now": now, "outcome": goal.outcome})

    async def living(self, goal: GoalRef) -> GoalRef | None:
        """Who it is now: itself, or the one that has its videos since; None when it was annulled."""
        return await fetch_one(self._connection, GoalRef, LIVING, **_this(goal))

    async def is_over(self, goal: GoalRef) -> bool:
        """Whether nothing may be written for it any more."""
        return await self.living(goal) is None

    async def hold(self, goal: GoalRef) -> GoalRef | None:
        """As `living`, and until the transaction ends no poll can take it away."""
        living = await self.living(goal)
        while living and not await fetch_one(self._connection, GoalRef, HOLD, **_this(living)):
            living = await self.living(living)  # it went while we waited for it
        return living

    async def search_again(self, goal: GoalRef) -> tuple[str, str, int] | None:
        """The id and the label of its next run, and its revision; None: it is searched for, or cannot be."""
        row = await (await self._connection.execute(SEARCH_AGAIN, _this(goal))).fetchone()
        if row is not None:
            await self._connection.execute(PUT_BATCHES_ASIDE, _this(goal))
        return row

    async def _revision(self, query: LiteralString, values: Mapping[str, Any]) -> int:
        [(revision,)] = await (await self._connection.execute(query, values)).fetchall()
        return revision


def _this(goal: GoalRef) -> dict[str, Any]:
    return {"event_id": goal.event_id, "generation": goal.generation}


def _columns(goal: StoredGoal) -> dict[str, Any]:
    reported, moved_to = goal.reported, goal.moved_to
    return {
        **_this(goal.ref),
        "fixture_id": goal.ref.fixture_id,
        "team_id": reported.team.id,
        "team_name": reported.team.name,
        "player_id": reported.player_id,
        "player_name": reported.player_name,
        "type": reported.type,
        "detail": reported.detail,
        "minute": reported.minute,
        "extra": reported.extra,
        "home_score": goal.score.home,
        "away_score": goal.score.away,
        "raw": Jsonb(reported.raw),
        "sequence": goal.sequence,
        "first_seen": goal.first_seen,
        "monitor_workflows": list(goal.monitor_workflows),
        "absent_workflows": list(goal.absent_workflows),
        "stable_at": goal.stable_at,
        "workflow_id": goal.workflow_id,
        "label": goal.label,
        "removed_at": goal.removed_at,
        "removal": goal.removal,
        "moved_to": moved_to.event_id if moved_to else None,
        "moved_generation": moved_to.generation if moved_to else None,
    }


def _stored(**row: Any) -> StoredGoal:
    fixture_id, moved_to = row["fixture_id"], row["moved_to"]
    ours = ("sequence", "first_seen", "stable_at", "workflow_id", "label", "monitor_complete", "search_started_at")
    return StoredGoal(
        ref=GoalRef(fixture_id, row["event_id"], row["generation"]),
        reported=_feed_goal(row),
        score=Score(row["home_score"], row["away_score"]),
        monitor_workflows=tuple(row["monitor_workflows"]),
        absent_workflows=tuple(row["absent_workflows"]),
        download_complete=row["download_complete"],
        outcome=row["outcome"],
        removed_at=row["removed_at"],
        removal=Removal(row["removal"]) if row["removal"] else None,
        moved_to=GoalRef(fixture_id, moved_to, row["moved_generation"]) if moved_to else None,
        **{name: row[name] for name in ours},
    )


def _feed_goal(row: Mapping[str, Any]) -> FeedGoal:
    same = ("player_id", "player_name", "type", "detail", "minute", "extra", "raw")
    return FeedGoal(team=Team(row["team_id"], row["team_name"]), **{name: row[name] for name in same})


# What starting a search needs to know of a goal.

FACTS: LiteralString = """
SELECT g.event_id, g.generation, g.fixture_id, g.player_name, g.detail, g.minute, g.extra, g.team_id, g.team_name,
       CASE WHEN g.team_id = f.home_id THEN f.away_id ELSE f.home_id END AS other_team_id,
       CASE WHEN g.team_id = f.home_id THEN f.away_name ELSE f.home_name END AS other_team_name
  FROM watch.goals AS g JOIN watch.fixtures AS f ON f.tenant_id = g.tenant_id AND f.id = g.fixture_id
 WHERE g.tenant_id = %(tenant_id)s AND g.event_id = ANY (%(events)s) AND g.removed_at IS NULL
"""


@dataclass(frozen=True, slots=True)
class SearchFacts:
    event_id: str
    generation: int
    fixture_id: int
    player_name: str | None
    detail: str
    minute: int
    extra: int | None
    team_id: int
    team_name: str
    other_team_id: int
    other_team_name: str

    @property
    def ref(self) -> GoalRef:
        return GoalRef(self.fixture_id, self.event_id, self.generation)

    @property
    def at(self) -> str:
        return f"{self.minute}+{self.extra}" if self.extra else str(self.minute)


async def search_facts(transaction: Transaction, goals: Sequence[GoalRef]) -> dict[GoalRef, SearchFacts]:
    rows = await fetch_all(
        transaction.connection,
        SearchFacts,
        FACTS,
        tenant_id=transaction.tenant_id,
        events=[goal.event_id for goal in goals],
    )
    return {row.ref: row for row in rows}
