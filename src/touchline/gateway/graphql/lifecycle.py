"""The lifecycle of artifacts in GraphQL: current states, events, storage events and live events.

Invariant: a page of any size is one call. Another tenant's artifact is one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

import strawberry

from touchline.contracts import lifecycle as contract
from touchline.contracts.events import artifacts
from touchline.kernel import InvalidInput, Scope, parse_artifact_hash

from .context import Info
from .feeds import ARTIFACT_TYPES
from .pages import PAGE_SIZE, Cursor, Edge, PageInfo, PageInput, window
from .store import LiveEvent


@strawberry.type(description="The state of an artifact, from its events; null means unknown.")
class ArtifactState:
    artifact_hash: str
    artifact_type: str | None
    stage: str | None
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: float | None
    width: int | None
    height: int | None
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    updated_at: datetime


@strawberry.type(description="One event of an artifact; null where the event has no value.")
class ArtifactEvent:
    id: strawberry.ID
    artifact_hash: str
    type: str
    revision: int
    occurred_at: datetime
    stage: str | None
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: float | None
    synced: bool | None
    local_copies: int | None
    error_code: str | None
    error_message: str | None
    job_id: strawberry.ID | None
    job_type: str | None
    attempt: int | None
    user_id: strawberry.ID | None


@strawberry.type(description="Where the bytes of an artifact were stored, according to one event.")
class StorageEvent:
    id: strawberry.ID
    artifact_hash: str
    type: str
    revision: int
    occurred_at: datetime
    synced: bool | None = strawberry.field(description="Whether the object store has them.")
    local_copies: int | None = strawberry.field(description="The number of nodes that have a copy.")
    storage_location: str | None = strawberry.field(description="pending, local, freezing, s3 or defrosting.")
    size_bytes: float | None


@strawberry.type(description="Oldest first, forwards only.")
class ArtifactEventConnection:
    edges: list[Edge[ArtifactEvent]]
    page_info: PageInfo


@strawberry.type(description="Oldest first, forwards only.")
class StorageEventConnection:
    edges: list[Edge[StorageEvent]]
    page_info: PageInfo


class HasPosition(Protocol):
    @property
    def position(self) -> int: ...


Message = TypeVar("Message", bound=HasPosition)
Item = TypeVar("Item")


@strawberry.type
class LifecycleQueries:
    @strawberry.field(description="The known artifacts, in the order of the request; at most 500.")
    async def artifact_states(self, info: Info, artifact_hashes: list[str]) -> list[ArtifactState]:
        context = info.context
        context.principal.require(Scope.READ)
        hashes = [parse_artifact_hash(one) for one in artifact_hashes]
        states = await context.composition.sources.lifecycle.states(context.principal, hashes)
        return [_state(state) for state in states]

    @strawberry.field(description="The events of one artifact.")
    async def artifact_events_connection(
        self, info: Info, artifact_hash: str, page: PageInput | None = None
    ) -> ArtifactEventConnection:
        context = info.context
        context.principal.require(Scope.READ)
        wanted = parse_artifact_hash(artifact_hash)
        cursor = context.cursor(f"artifact events {wanted}")
        size, after = _asked(page, cursor)
        found = await context.composition.sources.lifecycle.events(context.principal, [wanted], after, size + 1)
        edges, more = _edges(found, size, _event, cursor)
        return ArtifactEventConnection(edges=edges, page_info=_page_info(edges, after, more))

    @strawberry.field(description="Storage events of one artifact, or of all.")
    async def storage_events_connection(
        self, info: Info, artifact_hash: str | None = None, page: PageInput | None = None
    ) -> StorageEventConnection:
        context = info.context
        context.principal.require(Scope.READ)
        hashes = [] if artifact_hash is None else [parse_artifact_hash(artifact_hash)]
        cursor = context.cursor(f"storage events {hashes}")
        size, after = _asked(page, cursor)
        found = await context.composition.sources.lifecycle.storage_events(context.principal, hashes, after, size + 1)
        edges, more = _edges(found, size, _storage_event, cursor)
        return StorageEventConnection(edges=edges, page_info=_page_info(edges, after, more))


def _asked(page: PageInput | None, cursor: Cursor) -> tuple[int, int]:
    """How many, and behind which position."""
    asked = window(page or PageInput(first=PAGE_SIZE), cursor)
    if asked.from_the_end or asked.before is not None:
        raise InvalidInput("invalid page arguments", field="page", why="this list supports `first` and `after` only")
    return asked.size, int(asked.after) if asked.after else 0


def _edges(
    found: Sequence[Message], size: int, shown: Callable[[Message], Item], cursor: Cursor
) -> tuple[list[Edge[Item]], bool]:
    edges = [Edge(cursor=cursor.seal(str(one.position).encode()), node=shown(one)) for one in found[:size]]
    return edges, len(found) > size


def _page_info(edges: Sequence[Edge[Any]], after: int, more: bool) -> PageInfo:
    return PageInfo(
        has_next_page=more,
        has_previous_page=after > 0,
        start_cursor=edges[0].cursor if edges else None,
        end_cursor=edges[-1].cursor if edges else None,
    )


def _state(state: contract.LifecycleState) -> ArtifactState:
    names = ("progress_percent", "size_bytes", "duration_ms", "width", "height", "error_code", "error_message")
    return ArtifactState(
        artifact_hash=state.artifact_hash,
        artifact_type=state.artifact_type,
        stage=state.stage,
        **{name: getattr(state, name) for name in names},
        storage_location=state.storage_location,
        is_frozen=artifacts.is_frozen(state.synced, state.local_copies),
        revision=state.revision,
        updated_at=state.updated_at,
    )


def _event(event: contract.LifecycleEvent) -> ArtifactEvent:
    names = (
        *("stage", "progress_percent", "size_bytes", "duration_ms", "synced", "local_copies", "error_code"),
        *("error_message", "job_type", "attempt"),
    )
    return ArtifactEvent(
        **_common(event),
        **{name: getattr(event, name) for name in names},
        job_id=strawberry.ID(str(event.job_id)) if event.job_id else None,
        user_id=strawberry.ID(str(event.user_id)) if event.user_id else None,
    )


def _storage_event(event: contract.StorageEvent) -> StorageEvent:
    names = ("synced", "local_copies", "storage_location", "size_bytes")
    return StorageEvent(**_common(event), **{name: getattr(event, name) for name in names})


def _common(event: contract.LifecycleEvent | contract.StorageEvent) -> dict[str, Any]:
    return {
        "id": strawberry.ID(str(event.event_id)),
        "artifact_hash": event.artifact_hash,
        "type": event.type,
        "revision": event.revision,
        "occurred_at": event.occurred_at,
    }


# --- Live events of artifacts of any kind.

LIVE_CURSOR = "live"
# Events of the registry's record: the one before the artifact's own first stage, the other at any time.
RECORD_STAGES = {artifacts.ArtifactRegistered.event_type: "registered", artifacts.ArtifactRenamed.event_type: "renamed"}
IN_ORDER = (
    "What changed, in order. `cursor` is the position in the log: subscribe again with `after` to "
    "miss nothing. Without `after`, events start when the connection is opened."
)


@strawberry.type
class LiveArtifactEvent:
    cursor: str
    artifact_hash: str
    stage: str = strawberry.field(
        description="The new status; or `registered` or `renamed`, which concern the title only."
    )
    title: str | None = strawberry.field(description="The new title; null if unchanged.")
    title_revision: int | None = strawberry.field(description="Of two titles the one with the higher revision counts.")
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    error_code: str | None
    error: str | None
    revision: int
    occurred_at: datetime


async def live_events(info: Info, types: frozenset[str], after: str | None) -> AsyncGenerator[tuple[LiveEvent, str]]:
    """Each event of these types with its cursor, for ever."""
    context, live = info.context, info.context.live
    context.principal.require(Scope.READ)
    cursor = context.cursor(LIVE_CURSOR)
    position = live.position if after is None else int.from_bytes(cursor.open(after, "after"))
    async for event in context.composition.feeds.listen(context.principal.tenant_id, position, live.close, types):
        yield event, cursor.seal(event.position.to_bytes(8))


async def events_of(info: Info, kind: artifacts.ArtifactType, after: str | None) -> AsyncGenerator[dict[str, Any]]:
    """The fields of each event about an artifact of this kind, for ever."""
    async for event, cursor in live_events(info, ARTIFACT_TYPES, after):
        if kind_of(event) == kind:
            yield fields_of(event, cursor)


def kind_of(event: LiveEvent) -> str:
    """An older event of a new title does not say of what: of an upload."""
    return event.data.get("artifact_type") or artifacts.ArtifactType.UPLOAD


def fields_of(event: LiveEvent, cursor: str) -> dict[str, Any]:
    data, record_stage = event.data, RECORD_STAGES.get(event.type)
    return {
        "cursor": cursor,
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


@strawberry.type
class DvrLifecycleEvent(LiveArtifactEvent):
    dvr_hash: str = strawberry.field(description="The same as artifactHash.")


# --- Live events of storage. A verified original says that the object store has it, as one that was looked for and not
# found says that it has not.

SAYS_SYNCED = {
    artifacts.OriginalStored.event_type: True,
    artifacts.OriginalReturned.event_type: True,
    artifacts.OriginalVanished.event_type: False,
}
STORAGE_TYPES = frozenset({artifacts.ArtifactLifecycle.event_type, *SAYS_SYNCED})


@strawberry.type(description="Where an artifact is stored now; null where the event has no value.")
class LiveStorageEvent:
    cursor: str
    artifact_hash: str
    artifact_type: str | None
    type: str
    stage: str | None = strawberry.field(description="The artifact's status; `deleted` frees its bytes in time.")
    synced: bool | None = strawberry.field(description="Whether the object store has them.")
    local_copies: int | None = strawberry.field(description="The number of nodes that have a copy.")
    storage_location: str | None
    is_frozen: bool | None
    size_bytes: float | None
    revision: int
    occurred_at: datetime


@strawberry.type
class LifecycleSubscriptions:
    @strawberry.subscription(description=f"{IN_ORDER} Of recordings of streams.")
    async def live_dvr_lifecycle(self, info: Info, after: str | None = None) -> AsyncGenerator[DvrLifecycleEvent]:
        async for fields in events_of(info, artifacts.ArtifactType.DVR, after):
            yield DvrLifecycleEvent(dvr_hash=fields["artifact_hash"], **fields)

    @strawberry.subscription(description=f"{IN_ORDER} Of all artifacts, or of one.")
    async def live_storage_events(
        self, info: Info, artifact_hash: str | None = None, after: str | None = None
    ) -> AsyncGenerator[LiveStorageEvent]:
        wanted = None if artifact_hash is None else parse_artifact_hash(artifact_hash)
        async for event, cursor in live_events(info, STORAGE_TYPES, after):
            if wanted is None or event.data["artifact_hash"] == wanted:
                yield live_storage_event(event, cursor)


def live_storage_event(event: LiveEvent, cursor: str) -> LiveStorageEvent:
    data = event.data
    synced, local_copies = SAYS_SYNCED.get(event.type, data.get("synced")), data.get("local_copies")
    return LiveStorageEvent(
        cursor=cursor,
        artifact_hash=data["artifact_hash"],
        artifact_type=data.get("artifact_type"),
        type=event.type,
        stage=data.get("status"),
        synced=synced,
        local_copies=local_copies,
        storage_location=data.get("storage_location") or artifacts.storage_location(synced, local_copies),
        is_frozen=artifacts.is_frozen(synced, local_copies),
        size_bytes=data.get("size_bytes"),
        revision=event.revision,
        occurred_at=event.occurred_at,
    )
