"""The context that activities of watch share, and a goal to search for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from touchline.contracts.tenants import Owner
from touchline.kernel import Clock, SystemClock, UserId
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.watch.context import WatchContext
from touchline.watch.model import GoalRef

from .events import new_tenant

FIXTURE_ID = 9_000_001
FIRST_SEEN = datetime(2026, 3, 14, 15, 24, tzinfo=UTC)

ADD_FIXTURE = """
INSERT INTO watch.fixtures
       (tenant_id, id, stage, status, kick_off, home_id, home_name, away_id, away_name, raw, first_seen)
VALUES ((SELECT platform.current_tenant()), %(fixture_id)s, 'active', '1H', %(now)s, 40, 'Northport', 41, 'Göteryd',
        '{}', %(now)s)
ON CONFLICT DO NOTHING
"""
ADD_GOAL = """
INSERT INTO watch.goals
       (tenant_id, event_id, generation, fixture_id, team_id, team_name, player_id, player_name, type, detail, minute,
        home_score, away_score, raw, sequence, first_seen, stable_at, workflow_id, label)
VALUES ((SELECT platform.current_tenant()), %(event_id)s, %(generation)s, %(fixture_id)s, 40, 'Northport', 1001,
        'M. Sørensen', 'Goal', 'Normal Goal', 23, 1, 0, '{}', 1, %(now)s, %(now)s, %(workflow_id)s,
        'Northport-Sorensen')
"""
REMOVE_GOAL = """
UPDATE watch.goals
   SET removed_at = now(), removal = 'annulled'
 WHERE event_id = %(event_id)s AND generation = %(generation)s
"""
MOVE_GOAL = """
UPDATE watch.goals
   SET removed_at = now(), removal = 'reattributed', moved_to = %(to)s, moved_generation = %(to_generation)s
 WHERE event_id = %(event_id)s AND generation = %(generation)s
"""


async def new_context(database: Database, objects: ObjectStore, clock: Clock | None = None) -> WatchContext:
    return WatchContext(database, objects, Owner(new_tenant(), UserId(uuid4())), clock or SystemClock())


async def add_goal(context: WatchContext, player: int = 1001, first_seen: datetime = FIRST_SEEN) -> GoalRef:
    """Stable, and not searched for yet."""
    goal = GoalRef(FIXTURE_ID, f"{FIXTURE_ID}_40_{player}_Goal_1")
    values = {**named(goal), "now": first_seen, "workflow_id": workflow_id(goal)}
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        await transaction.connection.execute(ADD_FIXTURE, values)
        await transaction.connection.execute(ADD_GOAL, values)
    return goal


async def annul(context: WatchContext, goal: GoalRef) -> None:
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        await transaction.connection.execute(REMOVE_GOAL, named(goal))


async def move(context: WatchContext, goal: GoalRef, to: GoalRef) -> None:
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        values = {**named(goal), "to": to.event_id, "to_generation": to.generation}
        await transaction.connection.execute(MOVE_GOAL, values)


def workflow_id(goal: GoalRef) -> str:
    return f"twitter-Northport-Sorensen-23min-{goal.name}"


def named(goal: GoalRef) -> dict[str, object]:
    return {"fixture_id": goal.fixture_id, "event_id": goal.event_id, "generation": goal.generation}


def at(context: WatchContext, clock: Clock) -> WatchContext:
    return replace(context, clock=clock)


def later(minutes: float) -> datetime:
    return FIRST_SEEN + timedelta(minutes=minutes)
