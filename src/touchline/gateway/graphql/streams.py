"""Streams in GraphQL: create, change, rotate the key, list, show and delete them.

Invariant: a stream key is in the result of the mutation that made it, and nowhere else.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import asdict
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

import strawberry

from touchline.contracts.events.streams import PAYLOADS
from touchline.contracts.registry import LiveHealth, NewStream, RowWindow, Stream as Record, StreamChange
from touchline.kernel import InvalidInput, Scope

from . import results
from .context import Info
from .lifecycle import IN_ORDER, live_events
from .pages import Connection, Node, PageInput, PageRows, connection, global_id, window
from .serve import place_of, row_key
from .store import LiveEvent

STREAM = "Stream"
STREAMS = "streams"
EVENT_TYPES = frozenset(payload.event_type for payload in PAYLOADS)


class StreamState(StrEnum):
    IDLE = "idle"
    STARTING = "starting"
    LIVE = "live"
    INTERRUPTED = "interrupted"
    SUSPENDED = "suspended"


@strawberry.type(description="What the node measured of the encoder over the last seconds.")
class StreamHealth:
    bits_per_second: float
    frames_per_second: float
    dropped_frames: int = strawberry.field(description="Since the encoder began to publish.")
    keyframe_gap_ms: int = strawberry.field(description="The time between the last two keyframes.")
    behind_ms: int = strawberry.field(description="How late the newest picture arrived at the node.")
    width: int
    height: int


@strawberry.type(description="What an encoder publishes to.")
class Stream(Node):
    stream_id: strawberry.ID
    playback_id: str
    title: str
    description: str
    record: bool = strawberry.field(description="Whether a recording starts whenever it goes live.")
    created_at: datetime
    key_rotated_at: datetime
    is_live: bool
    live_since: datetime | None
    state: str = strawberry.field(
        description="idle, starting (an encoder publishes, and nothing can be played yet), live, interrupted (the "
        "encoder is gone and may come back) or suspended."
    )
    interrupted_at: datetime | None = strawberry.field(description="Since when the encoder is gone. Null: it is there.")
    health: StreamHealth | None = strawberry.field(
        description="Null while nobody publishes, and before it was measured."
    )
    problem: str | None = strawberry.field(
        description="Why the last encoder was refused for what it sent; null: it was not."
    )
    poster_url: str | None = strawberry.field(
        description="A picture of the last seconds of a stream that can be played. A signed path, without the host."
    )
    suspended_at: datetime | None = strawberry.field(description="Since when its key is refused. Null: it is accepted.")
    revision: int


@strawberry.type
class StreamWithKey:
    stream: Stream
    stream_key: str | None = strawberry.field(
        description="Whoever has it may publish. Shown once: null if the same request was answered before. Rotate "
        "the key to get a new one."
    )


@strawberry.type(description="What happened to a stream.")
class StreamEvent:
    cursor: str
    stream_id: strawberry.ID
    what: str = strawberry.field(
        description="created, updated, key_rotated, deleted, live, playable, interrupted, resumed or ended."
    )
    session_id: strawberry.ID | None = strawberry.field(description="Of the publisher; null for changes by people.")
    reason: str | None = strawberry.field(
        description="Why it ended: publisher_left, refused, stopped, replaced or node_lost. Else null."
    )
    problem: str | None = strawberry.field(
        description="Why the encoder was refused for what it sent; null: it was not."
    )
    revision: int
    occurred_at: datetime


@strawberry.type
class DeletedStream:
    stream_id: strawberry.ID


@strawberry.input
class CreateStreamInput:
    idempotency_key: str
    title: str
    description: str | None = None
    record: bool = False


@strawberry.input(description="Fields that are left out change nothing.")
class UpdateStreamInput:
    stream_id: strawberry.ID
    title: str | None = None
    description: str | None = None
    record: bool | None = None
    suspended: bool | None = strawberry.field(default=None, description="Whether its key is refused.")


CreateStreamResult = Annotated[
    StreamWithKey
    | results.ValidationError
    | results.AuthError
    | results.ConflictError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("CreateStreamResult"),
]
StreamResult = Annotated[
    Stream | results.ValidationError | results.NotFoundError | results.AuthError | results.UnavailableError,
    strawberry.union("StreamResult"),
]
StreamKeyResult = Annotated[
    StreamWithKey | results.ValidationError | results.NotFoundError | results.AuthError | results.UnavailableError,
    strawberry.union("StreamKeyResult"),
]
DeleteStreamResult = Annotated[
    DeletedStream | results.ValidationError | results.NotFoundError | results.AuthError | results.UnavailableError,
    strawberry.union("DeleteStreamResult"),
]


@strawberry.type
class StreamQueries:
    @strawberry.field
    async def stream(self, info: Info, stream_id: strawberry.ID) -> Stream | None:
        info.context.principal.require(Scope.READ)
        return await find_stream(info, stream_uuid(stream_id))

    @strawberry.field(description="Where encoders publish to, with the key of a stream.")
    async def publish_urls(self, info: Info) -> list[str]:
        context = info.context
        context.principal.require(Scope.READ)
        return list(await context.composition.sources.registry.publish_urls(context.principal))

    @strawberry.field
    async def streams_connection(self, info: Info, page: PageInput | None = None) -> Connection[Stream]:
        """Newest first."""
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(STREAMS)
        asked = window(page, cursor)
        places = {"after": row_key(asked.after), "before": row_key(asked.before)}
        found = await context.composition.sources.registry.listed_streams(
            context.principal, RowWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        rows = PageRows(found.streams, found.has_next, found.has_previous, found.total_count)
        return connection(rows, [stream_of(info, record) for record in found.streams], place_of, cursor)


@strawberry.type
class StreamMutations:
    @strawberry.mutation(description="The same idempotency key and input return the same stream, without its key.")
    async def create_stream(self, info: Info, input: CreateStreamInput) -> CreateStreamResult:  # noqa: A002  its name in the schema
        return await results.as_result(CreateStreamResult, _create(info, input))

    @strawberry.mutation
    async def update_stream(self, info: Info, input: UpdateStreamInput) -> StreamResult:  # noqa: A002  its name in the schema
        return await results.as_result(StreamResult, _update(info, input))

    @strawberry.mutation(description="The old key is refused from now on.")
    async def rotate_stream_key(self, info: Info, stream_id: strawberry.ID) -> StreamKeyResult:
        return await results.as_result(StreamKeyResult, _rotate(info, stream_id))

    @strawberry.mutation(description="Its key stops working. Its recordings and clips are kept.")
    async def delete_stream(self, info: Info, stream_id: strawberry.ID) -> DeleteStreamResult:
        return await results.as_result(DeleteStreamResult, _delete(info, stream_id))


@strawberry.type
class StreamSubscriptions:
    @strawberry.subscription(description=f"{IN_ORDER} Of all streams, or of one.")
    async def live_streams(
        self, info: Info, stream_id: strawberry.ID | None = None, after: str | None = None
    ) -> AsyncGenerator[StreamEvent]:
        wanted = None if stream_id is None else str(stream_uuid(stream_id))
        async for event, cursor in live_events(info, EVENT_TYPES, after):
            if wanted is None or event.data["stream_id"] == wanted:
                yield stream_event(event, cursor)


def stream_event(event: LiveEvent, cursor: str) -> StreamEvent:
    data = event.data
    session_id = data.get("session_id")
    return StreamEvent(
        cursor=cursor,
        stream_id=strawberry.ID(data["stream_id"]),
        what=event.type.removeprefix("stream."),
        session_id=strawberry.ID(session_id) if session_id else None,
        reason=data.get("reason"),
        problem=data.get("problem") or None,
        revision=event.revision,
        occurred_at=event.occurred_at,
    )


async def find_stream(info: Info, stream_id: UUID) -> Stream | None:
    registry = info.context.composition.sources.registry
    found = next(iter(await registry.streams(info.context.principal, [stream_id])), None)
    return None if found is None else stream_of(info, found)


def stream_uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not a valid stream id", field="stream_id", why="it must be a UUID") from error


def state_of(record: Record) -> StreamState:
    if record.suspended_at:
        return StreamState.SUSPENDED
    if record.live is None:
        return StreamState.IDLE
    if record.live.broken_at:
        return StreamState.INTERRUPTED
    return StreamState.LIVE if record.live.playable_at else StreamState.STARTING


def stream_of(info: Info, record: Record) -> Stream:
    live = record.live
    ids = info.context.principal.tenant_id, record.playback_id, record.artifact_hash
    has_picture = live is not None and live.playable_at is not None
    return Stream(
        id=global_id(STREAM, str(record.id)),
        stream_id=strawberry.ID(str(record.id)),
        playback_id=record.playback_id,
        title=record.title,
        description=record.description,
        record=record.record,
        created_at=record.created_at,
        key_rotated_at=record.key_rotated_at,
        is_live=record.live_since is not None,
        live_since=record.live_since,
        state=state_of(record),
        interrupted_at=live.broken_at if live else None,
        health=_health(live.health) if live and live.health else None,
        problem=record.live_problem or None,
        poster_url=info.context.composition.media.links.poster(*ids).url if has_picture else None,
        suspended_at=record.suspended_at,
        revision=record.revision,
    )


def _health(measured: LiveHealth) -> StreamHealth:
    return StreamHealth(**asdict(measured))


async def _create(info: Info, new: CreateStreamInput) -> StreamWithKey:
    context = info.context
    context.principal.require(Scope.WRITE)
    request = NewStream(new.idempotency_key, new.title, new.description or "", new.record)
    created = await context.composition.sources.registry.create_stream(context.principal, request)
    return StreamWithKey(stream=stream_of(info, created.stream), stream_key=created.key)


async def _update(info: Info, new: UpdateStreamInput) -> Stream:
    context = info.context
    context.principal.require(Scope.WRITE)
    change = StreamChange(new.title, new.description, new.record, new.suspended)
    registry = context.composition.sources.registry
    return stream_of(info, await registry.update_stream(context.principal, stream_uuid(new.stream_id), change))


async def _rotate(info: Info, stream_id: str) -> StreamWithKey:
    context = info.context
    context.principal.require(Scope.WRITE)
    rotated = await context.composition.sources.registry.rotate_stream_key(context.principal, stream_uuid(stream_id))
    return StreamWithKey(stream=stream_of(info, rotated.stream), stream_key=rotated.key)


async def _delete(info: Info, stream_id: str) -> DeletedStream:
    context, wanted = info.context, stream_uuid(stream_id)
    context.principal.require(Scope.WRITE)
    await context.composition.sources.registry.delete_stream(context.principal, wanted)
    return DeletedStream(stream_id=strawberry.ID(str(wanted)))
