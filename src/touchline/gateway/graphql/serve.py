"""Uploaded videos in GraphQL: list, upload in parts, play, delete and undelete them, and their live events.

Invariant: the services decide; this module translates requests into their terms and answers into the schema's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Annotated, Any

import strawberry

from touchline.contracts.artifacts import ArtifactStatus, PartAddress, UploadState, ViewerEndpoint
from touchline.contracts.events.artifacts import ArtifactType, is_frozen
from touchline.contracts.registry import (
    ArtifactChange,
    Clip,
    NewUpload,
    Recording,
    RowKey,
    RowWindow,
    Stream,
    TenantSettings,
    Upload,
)
from touchline.gateway.composition import start_playback, surviving_upload
from touchline.gateway.media_links import MediaLinks
from touchline.kernel import PlaybackId, Scope, TenantId, errors, parse_artifact_hash, parse_playback_id, video_id
from touchline.media.model import STORYBOARD
from touchline.serve.clips.rules import milliseconds

from . import results
from .context import UNKNOWN, Info, Lifecycle, RequestContext, asks_for
from .lifecycle import IN_ORDER, LiveArtifactEvent, events_of
from .pages import Connection, Node, PageInput, PageRows, connection, global_id, window

VOD = "Vod"
READY = "ready"


@strawberry.type(
    description="An uploaded video. Business fields come from the registry, lifecycle "
    "fields from events; null means unknown."
)
class Vod(Node):
    artifact_hash: str
    playback_id: str
    title: str
    title_revision: int = strawberry.field(description="Of two titles the one with the higher revision counts.")
    description: str
    pinned: bool = strawberry.field(description="Kept until it is unpinned, regardless of its retention.")
    file_name: str
    created_at: datetime
    expires_at: datetime | None
    status: str | None = strawberry.field(description="uploading, completing, processing, ready, failed or deleted.")
    progress_percent: int | None
    size_bytes: float | None
    duration_ms: int | None
    width: int | None
    height: int | None
    poster_url: str | None = strawberry.field(description="A signed path, without the host.")
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    lifecycle_known: bool = strawberry.field(description="False when the lifecycle service did not answer.")


@strawberry.type(description="Signed, expiring paths of an artifact that can be played now.")
class Playback:
    artifact_hash: str
    playback_id: str
    title: str
    manifest_url: str
    poster_url: str | None
    storyboard_url: str | None = strawberry.field(description="WebVTT that maps times to thumbnails.")
    download_url: str | None = strawberry.field(description="A clip as an MP4 file; null for everything else.")
    duration_ms: int | None
    expires_at: datetime


@strawberry.type
class UploadPart:
    number: int
    url: str
    size_bytes: int


@strawberry.type
class UploadTicket:
    vod: Vod
    part_size_bytes: int
    part_count: int
    parts: list[UploadPart] = strawberry.field(
        description="Where to upload the first parts; empty if all parts have arrived."
    )


@strawberry.type
class UploadParts:
    parts: list[UploadPart]


@strawberry.type
class ArrivedParts:
    part_size_bytes: int
    part_count: int
    arrived: list[int]
    checksums: list[str] = strawberry.field(
        description="The MD5 of each part that has arrived, in hex and in the same order. One that differs from the "
        "file's own is to be sent again."
    )


@strawberry.type
class VodPayload:
    vod: Vod


@strawberry.type
class DeletedVod:
    artifact_hash: str


@strawberry.input
class CreateVodUploadInput:
    idempotency_key: str
    file_name: str
    size_bytes: float
    title: str | None = None
    description: str | None = None
    content_type: str | None = None
    retention_seconds: float | None = strawberry.field(
        default=None,
        description="How long it is kept from when it plays; default: the retention of the tenant.",
    )


CreateVodUploadResult = Annotated[
    UploadTicket
    | results.ValidationError
    | results.AuthError
    | results.RateLimitError
    | results.ConflictError
    | results.UnavailableError,
    strawberry.union("CreateVodUploadResult"),
]
UploadPartsResult = Annotated[
    UploadParts
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.UnavailableError,
    strawberry.union("UploadPartsResult"),
]
VodResult = Annotated[
    VodPayload
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("VodResult"),
]
DeleteVodResult = Annotated[
    DeletedVod | results.NotFoundError | results.AuthError | results.ConflictError | results.UnavailableError,
    strawberry.union("DeleteVodResult"),
]
PlaybackResult = Annotated[
    Playback
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.UnavailableError
    | results.WarmingError,
    strawberry.union("PlaybackResult"),
]
# What only the lifecycle can fill, as the schema spells it.
LIFECYCLE_FIELDS = frozenset(
    {
        "status",
        "progressPercent",
        "sizeBytes",
        "durationMs",
        "width",
        "height",
        "posterUrl",
        "downloadUrl",
        "errorCode",
        "errorMessage",
        "storageLocation",
        "isFrozen",
        "revision",
        "lifecycleKnown",
    }
)


def vod_of(upload: Upload, lifecycle: Lifecycle, tenant_id: TenantId, links: MediaLinks) -> Vod:
    poster = links.poster(tenant_id, upload.playback_id, upload.artifact_hash) if lifecycle.has_poster else None
    return Vod(
        id=global_id(VOD, upload.artifact_hash),
        artifact_hash=upload.artifact_hash,
        playback_id=upload.playback_id,
        title=upload.title,
        title_revision=upload.revision,
        description=upload.description,
        pinned=upload.pinned,
        file_name=upload.file_name,
        created_at=upload.created_at,
        expires_at=upload.expires_at,
        poster_url=poster and poster.url,
        **known_of(lifecycle),
    )


def known_of(lifecycle: Lifecycle) -> dict[str, Any]:
    """The lifecycle fields of an artifact of any kind."""
    state = lifecycle.state
    names = ("progress_percent", "size_bytes", "duration_ms", "width", "height", "error_code", "error_message")
    return {
        "status": state.stage if state else None,
        **{name: getattr(state, name, None) for name in names},
        "storage_location": state.storage_location if state else None,
        "is_frozen": is_frozen(state.synced, state.local_copies) if state else None,
        "revision": state.revision if state else 0,
        "lifecycle_known": lifecycle.known,
    }


def part_of(address: PartAddress) -> UploadPart:
    return UploadPart(number=address.number, url=address.url, size_bytes=address.size_bytes)


# --- Queries and mutations.

VOD_LIST = "vods"
LARGEST_WHOLE = 2**53  # as far as a float counts
COMPLETE_WITHIN = timedelta(seconds=10)
FIRST_PARTS = 50  # addresses that come with a new upload; the rest are asked for when they are needed


@strawberry.type
class VodQueries:
    @strawberry.field
    async def vod(self, info: Info, artifact_hash: str) -> Vod | None:
        info.context.principal.require(Scope.READ)
        return await find_vod(info, parse_artifact_hash(artifact_hash))

    @strawberry.field
    async def vods_connection(self, info: Info, page: PageInput | None = None) -> Connection[Vod]:
        """Newest first."""
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(VOD_LIST)
        asked = window(page, cursor)
        places = {"after": row_key(asked.after), "before": row_key(asked.before)}
        found = await context.composition.sources.registry.listed(
            context.principal, RowWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        rows = PageRows(found.uploads, found.has_next, found.has_previous, found.total_count)
        return connection(rows, await _vods(info, found.uploads), place_of, cursor)

    @strawberry.field
    async def arrived_parts(self, info: Info, artifact_hash: str) -> ArrivedParts | None:
        """What of an upload is already there; what is not among it is still to be sent. None: it takes no parts."""
        context = info.context
        context.principal.require(Scope.READ)
        wanted = parse_artifact_hash(artifact_hash)
        try:
            there = await context.composition.sources.artifacts.list_parts(context.principal, wanted)
        except (errors.NotFound, errors.Conflict):
            return None
        return ArrivedParts(
            part_size_bytes=there.part_size_bytes,
            part_count=there.part_count,
            arrived=[part.number for part in there.parts],
            checksums=[part.etag for part in there.parts],
        )

    @strawberry.field
    async def playback(self, info: Info, playback_id: str) -> PlaybackResult:
        return await results.as_result(PlaybackResult, _playback(info, playback_id))


@strawberry.type
class VodMutations:
    @strawberry.mutation
    async def create_vod_upload(self, info: Info, input: CreateVodUploadInput) -> CreateVodUploadResult:  # noqa: A002  its name in the schema
        return await results.as_result(CreateVodUploadResult, _create_upload(info, input))

    @strawberry.mutation
    async def upload_parts(self, info: Info, artifact_hash: str, numbers: list[int]) -> UploadPartsResult:
        return await results.as_result(UploadPartsResult, _upload_parts(info, artifact_hash, numbers))

    @strawberry.mutation(
        description="`checksums`: the MD5 of each part, in hex, the first part's first. Parts that are missing or "
        "differ are named by a ValidationError of the field `parts`; send them again, then complete."
    )
    async def complete_vod_upload(
        self, info: Info, artifact_hash: str, checksums: list[str] | None = None
    ) -> VodResult:
        return await results.as_result(VodResult, _complete_upload(info, artifact_hash, checksums))

    @strawberry.mutation
    async def abort_vod_upload(self, info: Info, artifact_hash: str) -> DeleteVodResult:
        return await results.as_result(DeleteVodResult, _abort_upload(info, artifact_hash))

    @strawberry.mutation
    async def delete_vod(self, info: Info, artifact_hash: str) -> DeleteVodResult:
        return await results.as_result(DeleteVodResult, _delete_vod(info, artifact_hash))


async def find_vod(info: Info, artifact_hash: str) -> Vod | None:
    upload = await info.context.loaders.uploads.load(artifact_hash)
    return None if upload is None else (await _vods(info, [upload]))[0]


async def _playback(info: Info, playback_id: str) -> Playback:
    context, media = info.context, info.context.composition.media
    context.principal.require(Scope.READ)
    endpoint = await find_endpoint(context, parse_playback_id(playback_id))
    await start_playback(context.composition.sources, endpoint)
    ids = endpoint.tenant_id, endpoint.playback_id, endpoint.artifact_hash
    manifest = media.links.manifest(*ids)
    state, _ = await context.composition.sources.process.video(context.principal, video_id(endpoint.artifact_hash))
    has_storyboard = state is not None and state.has_storyboard
    return Playback(
        artifact_hash=endpoint.artifact_hash,
        playback_id=endpoint.playback_id,
        title=endpoint.title,
        manifest_url=manifest.url,
        poster_url=media.links.poster(*ids).url if endpoint.poster_key else None,
        storyboard_url=f"{manifest.url.rpartition('/')[0]}/{STORYBOARD}" if has_storyboard else None,
        download_url=media.links.clip(*ids).url if endpoint.clip_key else None,
        duration_ms=endpoint.duration_ms,
        expires_at=manifest.expires_at,
    )


async def find_endpoint(context: RequestContext, playback_id: PlaybackId, *, fresh: bool = False) -> ViewerEndpoint:
    """Playback ids are public among the services. Here another tenant's is one that does not exist: it is looked for
    inside of the caller's tenant, so that both cost the same."""
    places, tenant_id = context.composition.media.places, context.principal.tenant_id
    if (known := places.remembered(playback_id, tenant_id)) and not fresh:
        return known
    try:
        identity = await context.composition.sources.registry.resolve_playback_id(playback_id, context.principal)
    except errors.Unavailable:  # playback outlives a restart of the registry
        if known := places.remembered(playback_id, tenant_id, trusted=False):
            return known
        raise
    try:
        return await places.find(playback_id, fresh=fresh)
    except errors.NotFound:
        kept = await surviving_upload(context.composition.sources, tenant_id, identity.artifact_hash)
        if kept is None:
            raise
        return await places.find(kept.playback_id, fresh=fresh)


async def _create_upload(info: Info, new: CreateVodUploadInput) -> UploadTicket:
    context, sources = info.context, info.context.composition.sources
    context.principal.require(Scope.WRITE)
    request = NewUpload(
        idempotency_key=new.idempotency_key,
        file_name=new.file_name,
        size_bytes=_whole(new.size_bytes),
        title=new.title or "",
        description=new.description or "",
        content_type=new.content_type or "",
        retention=retention_of(new.retention_seconds),
    )
    created = await sources.registry.create_upload(context.principal, request)
    numbers = range(1, min(created.part_count, FIRST_PARTS) + 1)
    try:
        parts = await sources.artifacts.presign_parts(context.principal, created.upload.artifact_hash, numbers)
    except errors.Conflict:  # the same request as before, and all of the file is here already
        parts = ()
    [vod] = await _vods(info, [created.upload])
    return UploadTicket(
        vod=vod,
        part_size_bytes=created.part_size_bytes,
        part_count=created.part_count,
        parts=[part_of(part) for part in parts],
    )


async def _upload_parts(info: Info, artifact_hash: str, numbers: Sequence[int]) -> UploadParts:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    parts = await context.composition.sources.artifacts.presign_parts(context.principal, wanted, numbers)
    return UploadParts(parts=[part_of(part) for part in parts])


async def _complete_upload(info: Info, artifact_hash: str, checksums: Sequence[str] | None) -> VodPayload:
    """A large file takes its time: after the deadline the answer says how far it is, and the rest comes as events."""
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    etags = None if checksums is None else dict(enumerate(checksums, start=1))
    if etags == {}:
        raise errors.InvalidInput("there are no checksums", field="checksums", why="an upload has at least one part")
    try:
        completed = await context.composition.sources.artifacts.complete_upload(
            context.principal, wanted, etags, deadline=COMPLETE_WITHIN
        )
    except errors.DeadlineExceeded:
        completed = UploadState(ArtifactStatus.COMPLETING, revision=0)
    context.changed()
    vod = await find_vod(info, wanted)
    if vod is None:
        raise errors.NotFound("no such upload", why=f"{wanted} was deleted in the meantime")
    if completed.revision >= vod.revision:  # the events are not there yet, but this answer is
        vod = replace(vod, status=completed.status, revision=completed.revision)
    return VodPayload(vod=vod)


async def _abort_upload(info: Info, artifact_hash: str) -> DeletedVod:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    await context.composition.sources.artifacts.abort_upload(context.principal, wanted)
    context.changed()
    return DeletedVod(artifact_hash=wanted)


async def _delete_vod(info: Info, artifact_hash: str) -> DeletedVod:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    await context.composition.sources.registry.delete_upload(context.principal, wanted)
    context.composition.media.places.forget(wanted)
    context.changed()
    return DeletedVod(artifact_hash=wanted)


async def _vods(info: Info, uploads: Sequence[Upload]) -> list[Vod]:
    lifecycles = await lifecycles_of(info, [upload.artifact_hash for upload in uploads])
    tenant_id, links = info.context.principal.tenant_id, info.context.composition.media.links
    return [vod_of(upload, lifecycle, tenant_id, links) for upload, lifecycle in zip(uploads, lifecycles, strict=True)]


async def lifecycles_of(info: Info, hashes: Sequence[str]) -> Sequence[Lifecycle]:
    """Asked for all rows at once, and only if somebody wants it."""
    if asks_for(LIFECYCLE_FIELDS, info.selected_fields):
        return await info.context.loaders.lifecycles.load_many(list(hashes))
    return [UNKNOWN] * len(hashes)


def place_of(record: Upload | Clip | Recording | Stream) -> bytes:
    """The registry's exact key of a row."""
    return f"{record.created_at.isoformat()} {record.artifact_hash}".encode()


def row_key(place: bytes | None) -> RowKey | None:
    if place is None:
        return None
    created_at, artifact_hash = place.decode().split(" ")
    return RowKey(datetime.fromisoformat(created_at), artifact_hash)


def _whole(size_bytes: float) -> int:
    """GraphQL's integers end at two gibibytes, so sizes come as numbers that could be anything."""
    if not size_bytes.is_integer() or abs(size_bytes) > LARGEST_WHOLE:
        raise errors.InvalidInput(
            "invalid size", field="size_bytes", why="it must be a whole number of bytes below 2^53"
        )
    return int(size_bytes)


def retention_of(seconds: float | None) -> timedelta | None:
    """To the millisecond, as the registry keeps it."""
    return None if seconds is None else timedelta(milliseconds=milliseconds(seconds, "retention_seconds"))


# --- Field names: each API has its own.


@contextmanager
def with_field_names(names: Mapping[str, str]) -> Generator[None]:
    """What the registry says about a field is said about the one that the sender filled in."""
    try:
        yield
    except errors.InvalidInput as error:
        field = names.get(error.field, error.field)
        raise errors.InvalidInput(error.what, field=field, why=error.why, hint=error.hint) from error


# --- Title, description and pin of any kind of artifact, and what a tenant has set.


@strawberry.type
class UpdatedArtifact:
    artifact_hash: str
    artifact_type: str
    title: str
    title_revision: int = strawberry.field(description="Of two titles the one with the higher revision counts.")
    description: str
    pinned: bool
    revision: int


@strawberry.input(description="Fields that are left out change nothing.")
class UpdateArtifactInput:
    artifact_hash: str
    title: str | None = None
    description: str | None = None
    pinned: bool | None = strawberry.field(
        default=None, description="Kept until it is unpinned, regardless of its retention."
    )


@strawberry.type(description="What the administrators of a tenant have set; null is as the installation says.")
class TenantSettingsView:
    retention_seconds: float | None = strawberry.field(description="How long artifacts are kept.")


@strawberry.input
class UpdateTenantSettingsInput:
    retention_seconds: float | None = strawberry.field(
        description="How long artifacts are kept that are made from now on; null: as long as the installation says."
    )


UpdateArtifactResult = Annotated[
    UpdatedArtifact | results.ValidationError | results.NotFoundError | results.AuthError | results.UnavailableError,
    strawberry.union("UpdateArtifactResult"),
]
TenantSettingsResult = Annotated[
    TenantSettingsView | results.ValidationError | results.AuthError | results.UnavailableError,
    strawberry.union("TenantSettingsResult"),
]


@strawberry.type
class ArtifactQueries:
    @strawberry.field
    async def tenant_settings(self, info: Info) -> TenantSettingsView:
        context = info.context
        context.principal.require(Scope.READ)
        return _settings_view(await context.composition.sources.registry.tenant_settings(context.principal))


@strawberry.type
class ArtifactMutations:
    @strawberry.mutation(description="Of an upload, clip or recording.")
    async def update_artifact(self, info: Info, input: UpdateArtifactInput) -> UpdateArtifactResult:  # noqa: A002  its name in the schema
        return await results.as_result(UpdateArtifactResult, _update_artifact(info, input))

    @strawberry.mutation(description="For administrators. What exists already keeps its time.")
    async def update_tenant_settings(
        self,
        info: Info,
        input: UpdateTenantSettingsInput,  # noqa: A002  its name in the schema
    ) -> TenantSettingsResult:
        return await results.as_result(TenantSettingsResult, _update_settings(info, input))


async def _update_artifact(info: Info, new: UpdateArtifactInput) -> UpdatedArtifact:
    context, wanted = info.context, parse_artifact_hash(new.artifact_hash)
    context.principal.require(Scope.WRITE)
    change = ArtifactChange(new.title, new.description, new.pinned)
    changed = await context.composition.sources.registry.update_artifact(context.principal, wanted, change)
    context.composition.media.places.forget(wanted)  # it knows the title
    context.changed()
    return UpdatedArtifact(
        artifact_hash=changed.artifact_hash,
        artifact_type=changed.artifact_type,
        title=changed.title,
        title_revision=changed.title_revision,
        description=changed.description,
        pinned=changed.pinned,
        revision=changed.revision,
    )


async def _update_settings(info: Info, new: UpdateTenantSettingsInput) -> TenantSettingsView:
    context = info.context
    context.principal.require(Scope.ADMIN)
    wanted = TenantSettings(retention_of(new.retention_seconds))
    registry = context.composition.sources.registry
    return _settings_view(await registry.update_tenant_settings(context.principal, wanted))


def _settings_view(settings: TenantSettings) -> TenantSettingsView:
    retention = settings.retention
    return TenantSettingsView(retention_seconds=None if retention is None else retention.total_seconds())


# --- Undelete: any kind of artifact, until it is purged.


@strawberry.type
class UndeletedArtifact:
    artifact_hash: str
    revision: int


UndeleteArtifactResult = Annotated[
    UndeletedArtifact
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("UndeleteArtifactResult"),
]


@strawberry.type
class UndeleteMutations:
    @strawberry.mutation(
        description="Restores a deleted video or clip: it is listed, playable and searchable again. Returns a "
        "ConflictError if it was never playable, is being purged, or the same clip "
        "was created again. Does nothing if it is not deleted."
    )
    async def undelete_artifact(self, info: Info, artifact_hash: str) -> UndeleteArtifactResult:
        return await results.as_result(UndeleteArtifactResult, _undelete(info, artifact_hash))


async def _undelete(info: Info, artifact_hash: str) -> UndeletedArtifact:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    revision = await context.composition.sources.artifacts.undelete_artifact(context.principal, wanted)
    context.composition.media.places.forget(wanted)
    context.changed()
    return UndeletedArtifact(artifact_hash=wanted, revision=revision)


# --- Live events.


@strawberry.type
class VodLifecycleEvent(LiveArtifactEvent):
    pass


@strawberry.type
class VodSubscriptions:
    @strawberry.subscription(description=IN_ORDER)
    async def live_vod_lifecycle(self, info: Info, after: str | None = None) -> AsyncGenerator[VodLifecycleEvent]:
        async for fields in events_of(info, ArtifactType.UPLOAD, after):
            yield VodLifecycleEvent(**fields)
