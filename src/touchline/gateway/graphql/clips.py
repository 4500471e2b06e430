"""Clips in GraphQL: create, list, show and delete them, and their live events.

Invariant: seconds outside, milliseconds inside; the registry decides, and its errors name the fields of the schema.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry.utils.str_converters import to_camel_case

from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import Clip as Record, ClipFilter, ClipMode, NewClip, RowWindow
from touchline.gateway.media_links import MediaLinks
from touchline.kernel import NotFound, Scope, TenantId, parse_artifact_hash
from touchline.serve.clips.rules import milliseconds

from . import results
from .context import Info, Lifecycle
from .lifecycle import IN_ORDER, LiveArtifactEvent, events_of
from .pages import Connection, Node, PageInput, PageRows, connection, global_id, window
from .recordings import DvrRecording, find_recording
from .serve import READY, Vod, find_vod, known_of, lifecycles_of, place_of, retention_of, row_key, with_field_names
from .streams import stream_uuid

# --- Types, queries and mutations.

CLIP = "Clip"
CLIPS = "clips"
FIELDS = {
    "source_hash": "artifact_hash",
    "start_ms": "start_seconds",
    "end_ms": "end_seconds",
    "padding_ms": "padding_seconds",
    "duration_ms": "duration_seconds",
    "retention_ms": "retention_seconds",
}


@strawberry.enum(name="ClipMode", description="What the times of a clip count from.")
class Mode(Enum):
    ABSOLUTE = strawberry.enum_value(
        "absolute",
        description="A start, and an end or a duration: of a video from its beginning, of a stream since 1970.",
    )
    RELATIVE = strawberry.enum_value(
        "relative", description="A start, and an end or a duration, from the beginning of the video or stream."
    )
    DURATION = strawberry.enum_value("duration", description="A start as in ABSOLUTE, and a duration.")
    CLIP_NOW = strawberry.enum_value("clip_now", description="A duration: the last part of a stream, up to now.")


@strawberry.type(
    description="A part of a video, cut exactly at a frame, and an artifact of its own. Business fields come "
    "from the registry, lifecycle fields from events; null means unknown."
)
class Clip(Node):
    clip_hash: str
    artifact_hash: str = strawberry.field(description="The same as clipHash.")
    playback_id: str
    stream_id: strawberry.ID | None = strawberry.field(description="Null for a clip of an uploaded video.")
    source_hash: str = strawberry.field(description="The artifact that it was cut from.")
    title: str
    description: str
    mode: Mode = strawberry.field(description="How its times were requested.")
    start_seconds: float = strawberry.field(
        description="As requested, in the time of the source: of a video from its beginning, of a stream since 1970."
    )
    end_seconds: float
    padding_seconds: float
    shown_start_seconds: float = strawberry.field(
        description="With the padding, as far as the source has it. Exact after the clip was cut."
    )
    shown_end_seconds: float
    fulfilled_start_seconds: float = strawberry.field(description="How much of the requested range it shows.")
    fulfilled_end_seconds: float
    created_at: datetime
    expires_at: datetime
    pinned: bool = strawberry.field(description="Kept until it is unpinned, regardless of its retention.")
    status: str | None = strawberry.field(description="requested, processing, ready, failed or deleted.")
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    width: int | None
    height: int | None
    poster_url: str | None = strawberry.field(description="A signed path, without the host.")
    download_url: str | None = strawberry.field(description="The clip as an MP4 file, when it is ready. A signed path.")
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    lifecycle_known: bool = strawberry.field(description="False when the lifecycle service did not answer.")

    @strawberry.field(description="The video that it was cut from. Null if it was deleted or is a clip itself.")
    async def source(self, info: Info) -> Vod | None:
        return await find_vod(info, parse_artifact_hash(self.source_hash))


@strawberry.type
class DeletedClip:
    artifact_hash: str


@strawberry.input
class CreateClipInput:
    artifact_hash: str | None = strawberry.field(default=None, description="The video to clip; or `streamId`.")
    stream_id: strawberry.ID | None = None
    mode: Mode = strawberry.field(default=Mode.ABSOLUTE, description="What the times count from.")
    start_seconds: float | None = None
    end_seconds: float | None = None
    duration_seconds: float | None = None
    padding_seconds: float | None = None
    title: str | None = None
    description: str | None = None
    idempotency_key: str | None = strawberry.field(
        default=None, description="Without it the same source, range and padding is the same request."
    )
    retention_seconds: float | None = strawberry.field(
        default=None, description="How long it is kept; default: the retention of the tenant."
    )


CreateClipResult = Annotated[
    Clip
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("CreateClipResult"),
]
Artifact = Annotated[Vod | Clip | DvrRecording, strawberry.union("Artifact")]
DeleteClipResult = Annotated[
    DeletedClip | results.NotFoundError | results.AuthError | results.ConflictError | results.UnavailableError,
    strawberry.union("DeleteClipResult"),
]


@strawberry.type
class ClipQueries:
    @strawberry.field
    async def clip(self, info: Info, artifact_hash: str) -> Clip | None:
        info.context.principal.require(Scope.READ)
        return await find_clip(info, parse_artifact_hash(artifact_hash))

    @strawberry.field(description="The artifact with this playback id, even if it cannot be played.")
    async def artifact(self, info: Info, playback_id: str) -> Artifact | None:
        context = info.context
        context.principal.require(Scope.READ)
        try:
            found = await context.composition.sources.registry.resolve_playback_id(playback_id, context.principal)
        except NotFound:
            return None
        match found.artifact_type:
            case ArtifactType.CLIP:
                return await find_clip(info, found.artifact_hash)
            case ArtifactType.DVR:
                return await find_recording(info, found.artifact_hash)
            case ArtifactType.UPLOAD:
                return await find_vod(info, found.artifact_hash)
            case None:
                return None  # a stream

    @strawberry.field
    async def clips_connection(
        self,
        info: Info,
        stream_id: strawberry.ID | None = None,
        artifact_hash: str | None = None,
        page: PageInput | None = None,
    ) -> Connection[Clip]:
        """Newest first; all, or those of one stream or video."""
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(CLIPS)
        asked, wanted = window(page, cursor), _filter(stream_id, artifact_hash)
        places = {"after": row_key(asked.after), "before": row_key(asked.before)}
        found = await context.composition.sources.registry.listed_clips(
            context.principal, RowWindow(asked.size, from_the_end=asked.from_the_end, **places), wanted
        )
        rows = PageRows(found.clips, found.has_next, found.has_previous, found.total_count)
        return connection(rows, await _clips(info, found.clips), place_of, cursor)


@strawberry.type
class ClipMutations:
    @strawberry.mutation(description="With the same video, range and padding, the existing clip is returned.")
    async def create_clip(self, info: Info, input: CreateClipInput) -> CreateClipResult:  # noqa: A002  its name in the schema
        return await results.as_result(CreateClipResult, _create(info, input))

    @strawberry.mutation
    async def delete_clip(self, info: Info, artifact_hash: str) -> DeleteClipResult:
        return await results.as_result(DeleteClipResult, _delete(info, artifact_hash))


async def find_clip(info: Info, artifact_hash: str) -> Clip | None:
    clip = await info.context.loaders.clips.load(artifact_hash)
    return None if clip is None else (await _clips(info, [clip]))[0]


async def _create(info: Info, new: CreateClipInput) -> Clip:
    context = info.context
    context.principal.require(Scope.WRITE)
    request = NewClip(
        source_hash=None if new.artifact_hash is None else parse_artifact_hash(new.artifact_hash),
        stream_id=None if new.stream_id is None else stream_uuid(new.stream_id),
        mode=ClipMode(new.mode.value),
        **{
            f"{name}_ms": None if value is None else milliseconds(value, f"{name}_seconds")
            for name, value in _times(new).items()
        },
        title=new.title or "",
        description=new.description or "",
        requested_params=_as_sent(new),
        idempotency_key=new.idempotency_key or "",
        retention=retention_of(new.retention_seconds),
    )
    with with_field_names(FIELDS):
        created = await context.composition.sources.registry.create_clip(context.principal, request)
    context.changed()
    [clip] = await _clips(info, [created.clip])
    if created.revision >= clip.revision:  # the events are not there yet, but this answer is
        clip = replace(clip, status=created.status, revision=created.revision)
    return clip


async def _delete(info: Info, artifact_hash: str) -> DeletedClip:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    await context.composition.sources.registry.delete_clip(context.principal, wanted)
    context.composition.media.places.forget(wanted)
    context.changed()
    return DeletedClip(artifact_hash=wanted)


async def _clips(info: Info, records: Sequence[Record]) -> list[Clip]:
    lifecycles = await lifecycles_of(info, [record.artifact_hash for record in records])
    tenant_id, links = info.context.principal.tenant_id, info.context.composition.media.links
    return [clip_of(record, lifecycle, tenant_id, links) for record, lifecycle in zip(records, lifecycles, strict=True)]


def clip_of(record: Record, lifecycle: Lifecycle, tenant_id: TenantId, links: MediaLinks) -> Clip:
    known = known_of(lifecycle)
    ids = tenant_id, record.playback_id, record.artifact_hash
    return Clip(
        id=global_id(CLIP, record.artifact_hash),
        clip_hash=record.artifact_hash,
        artifact_hash=record.artifact_hash,
        playback_id=record.playback_id,
        stream_id=strawberry.ID(str(record.stream_id)) if record.stream_id else None,
        source_hash=record.source_hash,
        title=record.title,
        description=record.description,
        start_seconds=record.start_ms / 1000,
        end_seconds=record.end_ms / 1000,
        padding_seconds=record.padding_ms / 1000,
        shown_start_seconds=record.shown.start_ms / 1000,
        shown_end_seconds=record.shown.end_ms / 1000,
        mode=Mode(record.mode.value),
        fulfilled_start_seconds=record.fulfilled.start_ms / 1000,
        fulfilled_end_seconds=record.fulfilled.end_ms / 1000,
        pinned=record.pinned,
        created_at=record.created_at,
        expires_at=record.expires_at,
        poster_url=links.poster(*ids).url if lifecycle.has_poster else None,
        download_url=links.clip(*ids).url if known["status"] == READY else None,
        **known,
    )


def _times(new: CreateClipInput) -> dict[str, float | None]:
    return {
        "start": new.start_seconds,
        "end": new.end_seconds,
        "duration": new.duration_seconds,
        "padding": new.padding_seconds,
    }


def _as_sent(new: CreateClipInput) -> dict[str, Any]:
    named = {to_camel_case(name): value for name, value in vars(new).items() if value is not None}
    return named | {"mode": new.mode.name}


def _filter(stream_id: str | None, artifact_hash: str | None) -> ClipFilter:
    stream = None if stream_id is None else stream_uuid(stream_id)
    return ClipFilter(None if artifact_hash is None else parse_artifact_hash(artifact_hash), stream)


# --- Live events.

MOST_REMEMBERED = 1000


@strawberry.type
class ClipLifecycleEvent(LiveArtifactEvent):
    clip_hash: str = strawberry.field(description="The same as artifactHash.")


@strawberry.type
class ClipSubscriptions:
    @strawberry.subscription(description=f"{IN_ORDER} Of all clips, or of those of one stream.")
    async def live_clip_lifecycle(
        self, info: Info, stream_id: strawberry.ID | None = None, after: str | None = None
    ) -> AsyncGenerator[ClipLifecycleEvent]:
        streams = ClipStreams(info)
        async for fields in events_of(info, ArtifactType.CLIP, after):
            clip_hash: str = fields["artifact_hash"]
            if stream_id is None or await streams.of(clip_hash) == stream_id:
                yield ClipLifecycleEvent(clip_hash=clip_hash, **fields)


class ClipStreams:
    """Which stream a clip is of: the events do not say it, the registry does, and it never changes."""

    def __init__(self, info: Info) -> None:
        self._context = info.context
        self._known: dict[str, str | None] = {}

    async def of(self, clip_hash: str) -> str | None:
        """None for a clip of an uploaded video, and for one that was deleted before anybody asked."""
        if clip_hash not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            registry, principal = self._context.composition.sources.registry, self._context.principal
            found = next(iter(await registry.clips(principal, [clip_hash])), None)
            self._known[clip_hash] = str(found.stream_id) if found and found.stream_id else None
        return self._known[clip_hash]
