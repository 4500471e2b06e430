"""Recordings of streams (DVR) in GraphQL: start, stop, list, show and delete them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Annotated

import strawberry

from touchline.contracts.registry import NewRecording, Recording, RowWindow, StartedRecording
from touchline.kernel import Scope, parse_artifact_hash

from . import results
from .context import Info, Lifecycle
from .pages import Connection, Node, PageInput, PageRows, connection, global_id, window
from .serve import known_of, lifecycles_of, place_of, retention_of, row_key, with_field_names
from .streams import stream_uuid

DVR = "DvrRecording"
RECORDINGS = "recordings"
FIELDS = {"retention_ms": "retention_seconds", "artifact_hash": "dvr_hash"}


@strawberry.type(
    description="A recording of a stream, and an artifact of its own. Business fields come from the registry, "
    "lifecycle fields from the events; null is unknown."
)
class DvrRecording(Node):
    dvr_hash: str
    artifact_hash: str = strawberry.field(description="The same as dvrHash.")
    playback_id: str
    stream_id: strawberry.ID
    title: str
    title_revision: int = strawberry.field(description="Of two titles the one with the higher revision counts.")
    description: str
    created_at: datetime
    ended_at: datetime | None
    expires_at: datetime | None = strawberry.field(description="Counted from its end; null while it goes on.")
    pinned: bool = strawberry.field(description="Kept until it is unpinned.")
    status: str | None = strawberry.field(
        description="starting, recording, stopping, completed, completed_partial, failed or deleted."
    )
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    width: int | None
    height: int | None
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    lifecycle_known: bool = strawberry.field(description="False when the lifecycle service did not answer.")


@strawberry.type
class DeletedDvr:
    dvr_hash: str


@strawberry.input
class StartDvrInput:
    stream_id: strawberry.ID
    title: str | None = None
    description: str | None = None
    idempotency_key: str | None = None
    retention_seconds: float | None = strawberry.field(
        default=None, description="How long it is kept after its end; default: the retention of the tenant."
    )


DvrResult = Annotated[
    DvrRecording
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("DvrResult"),
]
DeleteDvrResult = Annotated[
    DeletedDvr
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.UnavailableError,
    strawberry.union("DeleteDvrResult"),
]


@strawberry.type
class RecordingQueries:
    @strawberry.field
    async def dvr_recording(self, info: Info, dvr_hash: str) -> DvrRecording | None:
        info.context.principal.require(Scope.READ)
        return await find_recording(info, parse_artifact_hash(dvr_hash))

    @strawberry.field
    async def dvr_recordings_connection(
        self, info: Info, stream_id: strawberry.ID | None = None, page: PageInput | None = None
    ) -> Connection[DvrRecording]:
        """Newest first; all, or those of one stream."""
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(RECORDINGS)
        asked = window(page, cursor)
        places = {"after": row_key(asked.after), "before": row_key(asked.before)}
        found = await context.composition.sources.registry.listed_dvr_requests(
            context.principal,
            RowWindow(asked.size, from_the_end=asked.from_the_end, **places),
            None if stream_id is None else stream_uuid(stream_id),
        )
        rows = PageRows(found.recordings, found.has_next, found.has_previous, found.total_count)
        return connection(rows, await _recordings(info, found.recordings), place_of, cursor)


@strawberry.type
class RecordingMutations:
    @strawberry.mutation(
        description="Records a live stream. A stream has one recording at a time: starting again returns the same one. "
        "A ConflictError: the stream is not live."
    )
    async def start_dvr(self, info: Info, input: StartDvrInput) -> DvrResult:  # noqa: A002  its name in the schema
        return await results.as_result(DvrResult, _start(info, input))

    @strawberry.mutation(description="Has no effect on a recording that has ended.")
    async def stop_dvr(self, info: Info, dvr_hash: str) -> DvrResult:
        return await results.as_result(DvrResult, _stop(info, dvr_hash))

    @strawberry.mutation
    async def delete_dvr(self, info: Info, dvr_hash: str) -> DeleteDvrResult:
        return await results.as_result(DeleteDvrResult, _delete(info, dvr_hash))


async def find_recording(info: Info, dvr_hash: str) -> DvrRecording | None:
    found = await info.context.composition.sources.registry.recordings(info.context.principal, [dvr_hash])
    return (await _recordings(info, found))[0] if found else None


async def _start(info: Info, new: StartDvrInput) -> DvrRecording:
    context = info.context
    context.principal.require(Scope.WRITE)
    request = NewRecording(
        stream_id=stream_uuid(new.stream_id),
        title=new.title or "",
        description=new.description or "",
        idempotency_key=new.idempotency_key or "",
        retention=retention_of(new.retention_seconds),
    )
    with with_field_names(FIELDS):
        started = await context.composition.sources.registry.start_dvr(context.principal, request)
    return await _as_answered(info, started)


async def _stop(info: Info, dvr_hash: str) -> DvrRecording:
    context = info.context
    context.principal.require(Scope.WRITE)
    with with_field_names(FIELDS):
        wanted = parse_artifact_hash(dvr_hash)
    return await _as_answered(info, await context.composition.sources.registry.stop_dvr(context.principal, wanted))


async def _as_answered(info: Info, started: StartedRecording) -> DvrRecording:
    """The events are not there yet, but this answer is."""
    info.context.changed()
    [recording] = await _recordings(info, [started.recording])
    if started.revision >= recording.revision:
        recording = replace(recording, status=started.status, revision=started.revision)
    return recording


async def _delete(info: Info, dvr_hash: str) -> DeletedDvr:
    context = info.context
    context.principal.require(Scope.WRITE)
    with with_field_names(FIELDS):
        wanted = parse_artifact_hash(dvr_hash)
    await context.composition.sources.registry.delete_dvr(context.principal, wanted)
    context.composition.media.places.forget(wanted)
    context.changed()
    return DeletedDvr(dvr_hash=wanted)


async def _recordings(info: Info, records: Sequence[Recording]) -> list[DvrRecording]:
    lifecycles = await lifecycles_of(info, [record.artifact_hash for record in records])
    return [recording_of(record, lifecycle) for record, lifecycle in zip(records, lifecycles, strict=True)]


def recording_of(record: Recording, lifecycle: Lifecycle) -> DvrRecording:
    return DvrRecording(
        id=global_id(DVR, record.artifact_hash),
        dvr_hash=record.artifact_hash,
        artifact_hash=record.artifact_hash,
        playback_id=record.playback_id,
        stream_id=strawberry.ID(str(record.stream_id)),
        title=record.title,
        title_revision=record.revision,
        description=record.description,
        created_at=record.created_at,
        ended_at=record.ended_at,
        expires_at=record.expires_at,
        pinned=record.pinned,
        **known_of(lifecycle),
    )
