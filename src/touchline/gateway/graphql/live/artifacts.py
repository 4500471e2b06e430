"""Live events of artifacts of any kind: what a subscriber sees of the events of the log."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any

import strawberry

from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactRenamed, ArtifactType
from touchline.gateway.graphql.context import Info
from touchline.gateway.graphql.cursors import Cursor
from touchline.kernel import Scope

from .store import LiveEvent

# Progress of processing is in here: serve takes it over and tells it with the artifact's own revision.
TYPES = frozenset({ArtifactRegistered.event_type, ArtifactRenamed.event_type, ArtifactLifecycle.event_type})
CURSOR = "live"
# Told of the registry's record: the one before the artifact's own first stage, the other at any time.
RECORD_STAGES = {ArtifactRegistered.event_type: "registered", ArtifactRenamed.event_type: "renamed"}
IN_ORDER = (
    "What changed, in order. `cursor` is the position in the log: subscribe again with `after` and nothing is missed. "
    "Without `after`: from when the connection was opened."
)


@strawberry.type
class ArtifactEvent:
    cursor: str
    artifact_hash: str
    stage: str = strawberry.field(description="Its status; or registered or renamed, which tell of its title only.")
    title: str | None = strawberry.field(description="What it is called from now on; null is not said.")
    title_revision: int | None = strawberry.field(description="Of two titles the one with the higher revision counts.")
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    error_code: str | None
    error: str | None
    revision: int
    occurred_at: datetime


async def events_of(info: Info, kind: ArtifactType, after: str | None) -> AsyncGenerator[dict[str, Any]]:
    """The fields of each event about an artifact of this kind, for ever."""
    context, live = info.context, info.context.live
    context.principal.require(Scope.READ)
    cursor = context.cursor(CURSOR)
    position = live.position if after is None else int.from_bytes(cursor.open(after, "after"))
    async for event in context.parts.feeds.listen(context.principal.tenant_id, position, live.close, TYPES):
        if kind_of(event) == kind:
            yield fields_of(event, cursor)


def kind_of(event: LiveEvent) -> str:
    """A new title does not say of what: uploads alone get one."""
    return ArtifactType.UPLOAD if event.type == ArtifactRenamed.event_type else event.data["artifact_type"]


def fields_of(event: LiveEvent, cursor: Cursor) -> dict[str, Any]:
    data, record_stage = event.data, RECORD_STAGES.get(event.type)
    return {
        "cursor": cursor.seal(event.position.to_bytes(8)),
        "artifact_hash": data["artifact_hash"],
        "stage": record_stage or data["status"],
        "title": data["title"] if record_stage else None,
        "title_revision": event.revision if record_stage else None,
        "progress_percent": data.get("progress_percent"),
        "size_bytes": data.get("size_bytes"),
        "duration_ms": data.get("duration_ms"),
        "error_code": data.get("error_code"),
        "error": data.get("error_message"),
        # The registry counts revisions of its own record; the artifact's begin at 1.
        "revision": 0 if record_stage else event.revision,
        "occurred_at": event.occurred_at,
    }
