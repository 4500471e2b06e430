"""Live events of matches: scores, goals that come, go on and go, and their videos."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime

import strawberry

from touchline.contracts.events import watch
from touchline.gateway.graphql.context import Info
from touchline.gateway.graphql.cursors import Cursor
from touchline.kernel import Scope

from .artifacts import CURSOR
from .store import LiveEvent

_SHOWN = (watch.FixtureChanged, watch.GoalChanged, watch.GoalVideoKept, watch.GoalVideoDropped)
FIXTURE, GOAL, KEPT, DROPPED = (kind.event_type for kind in _SHOWN)
TYPES = frozenset({FIXTURE, GOAL, KEPT, DROPPED})
GOAL_TYPES = TYPES - {FIXTURE}
WHAT = {FIXTURE: "changed", KEPT: "video_kept", DROPPED: "video_dropped"}


@strawberry.type(description="Something of one match, of one of its goals, or of a goal's video has changed.")
class MatchEvent:
    cursor: str
    occurred_at: datetime
    match_id: strawberry.ID
    event_id: str | None = strawberry.field(description="The goal; null when the match itself changed.")
    generation: int | None
    what: str = strawberry.field(
        description="changed (the match); seen, stable, searching, searched, archived, complete, removed, moved "
        "(the goal); video_kept, video_dropped."
    )
    attempt: int | None
    outcome: str | None
    moved_to: str | None = strawberry.field(description="The goal that has its videos now.")
    artifact_hash: str | None
    replaced_by: str | None = strawberry.field(description="The better copy of a video that was dropped.")
    revision: int


@strawberry.type
class MatchSubscriptions:
    @strawberry.subscription(
        description="What happens to matches, goals and their videos, in order. `cursor` is the position in the log: "
        "subscribe again with `after` and nothing is missed. Without `after`: from when the connection was opened."
    )
    async def live_matches(self, info: Info, after: str | None = None) -> AsyncGenerator[MatchEvent]:
        context, live = info.context, info.context.live
        context.principal.require(Scope.READ)
        cursor = context.cursor(CURSOR)
        position = live.position if after is None else int.from_bytes(cursor.open(after, "after"))
        async for event in context.parts.feeds.listen(context.principal.tenant_id, position, live.close, TYPES):
            yield show(event, cursor)


def show(event: LiveEvent, cursor: Cursor) -> MatchEvent:
    data = event.data
    return MatchEvent(
        cursor=cursor.seal(event.position.to_bytes(8)),
        occurred_at=event.occurred_at,
        match_id=strawberry.ID(str(data["fixture_id"])),
        event_id=data.get("event_id"),
        generation=data.get("generation"),
        what=what(event),
        attempt=data.get("attempt"),
        outcome=data.get("outcome"),
        moved_to=data.get("moved_to"),
        artifact_hash=data.get("artifact_hash"),
        replaced_by=data.get("replaced_by"),
        revision=event.revision,
    )


def what(event: LiveEvent) -> str:
    return WHAT.get(event.type) or event.data["what"]
