"""What people do with uploads: list, look, upload in parts, play, delete.

Invariant: the services decide; here requests are put into their words and answers into the schema's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import strawberry

from touchline.contracts.artifacts import ArtifactStatus, UploadState, ViewerEndpoint
from touchline.contracts.registry import Clip, NewUpload, RowKey, RowWindow, Upload
from touchline.gateway.media.survivors import survivor
from touchline.kernel import Scope
from touchline.kernel.errors import Conflict, DeadlineExceeded, InvalidInput, NotFound, Unavailable
from touchline.kernel.ids import PlaybackId, parse_artifact_hash, parse_playback_id, video_id
from touchline.media.model import STORYBOARD

from .context import Context, Info
from .loaders import UNKNOWN, Lifecycle
from .pages import Connection, PageInput, Rows, connection, window
from .results import answered
from .selections import asks_for
from .serve import (
    LIFECYCLE_FIELDS,
    ArrivedParts,
    CreateVodUploadInput,
    CreateVodUploadResult,
    DeletedVod,
    DeleteVodResult,
    Playback,
    PlaybackResult,
    UploadParts,
    UploadPartsResult,
    UploadTicket,
    Vod,
    VodPayload,
    VodResult,
    part_of,
    vod_of,
)

VODS = "vods"
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
        cursor = context.cursor(VODS)
        asked = window(page, cursor)
        places = {"after": row_key(asked.after), "before": row_key(asked.before)}
        found = await context.parts.sources.registry.listed(
            context.principal, RowWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        rows = Rows(found.uploads, found.has_next, found.has_previous, found.total_count)
        return connection(rows, await _vods(info, found.uploads), place_of, cursor)

    @strawberry.field
    async def arrived_parts(self, info: Info, artifact_hash: str) -> ArrivedParts | None:
        """What of an upload is already there; what is not among it is still to be sent. None: it takes no parts."""
        context = info.context
        context.principal.require(Scope.READ)
        wanted = parse_artifact_hash(artifact_hash)
        try:
            there = await context.parts.sources.artifacts.list_parts(context.principal, wanted)
        except (NotFound, Conflict):
            return None
        return ArrivedParts(
            part_size_bytes=there.part_size_bytes,
            part_count=there.part_count,
            arrived=[part.number for part in there.parts],
        )

    @strawberry.field
    async def playback(self, info: Info, playback_id: str) -> PlaybackResult:
        return await answered(PlaybackResult, _playback(info, playback_id))


@strawberry.type
class VodMutations:
    @strawberry.mutation
    async def create_vod_upload(self, info: Info, input: CreateVodUploadInput) -> CreateVodUploadResult:  # noqa: A002  its name in the schema
        return await answered(CreateVodUploadResult, _create(info, input))

    @strawberry.mutation
    async def upload_parts(self, info: Info, artifact_hash: str, numbers: list[int]) -> UploadPartsResult:
        return await answered(UploadPartsResult, _upload_parts(info, artifact_hash, numbers))

    @strawberry.mutation
    async def complete_vod_upload(self, info: Info, artifact_hash: str) -> VodResult:
        return await answered(VodResult, _complete(info, artifact_hash))

    @strawberry.mutation
    async def abort_vod_upload(self, info: Info, artifact_hash: str) -> DeleteVodResult:
        return await answered(DeleteVodResult, _abort(info, artifact_hash))

    @strawberry.mutation
    async def delete_vod(self, info: Info, artifact_hash: str) -> DeleteVodResult:
        return await answered(DeleteVodResult, _delete(info, artifact_hash))


async def find_vod(info: Info, artifact_hash: str) -> Vod | None:
    upload = await info.context.loaders.uploads.load(artifact_hash)
    return None if upload is None else (await _vods(info, [upload]))[0]


async def _playback(info: Info, playback_id: str) -> Playback:
    context, media = info.context, info.context.parts.media
    context.principal.require(Scope.READ)
    endpoint = await _endpoint(context, parse_playback_id(playback_id))
    ids = endpoint.tenant_id, endpoint.playback_id, endpoint.artifact_hash
    manifest = media.links.manifest(*ids)
    state, _ = await context.parts.sources.process.video(context.principal, video_id(endpoint.artifact_hash))
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


async def _endpoint(context: Context, playback_id: PlaybackId) -> ViewerEndpoint:
    """Playback ids are public among the services. Here another tenant's is one that does not exist: it is looked for
    inside of the caller's tenant, so that both cost the same."""
    places, tenant_id = context.parts.media.places, context.principal.tenant_id
    if known := places.remembered(playback_id, tenant_id):
        return known
    try:
        identity = await context.parts.sources.registry.resolve_playback_id(playback_id, context.principal)
    except Unavailable:  # playback outlives a restart of the registry
        if known := places.remembered(playback_id, tenant_id, trusted=False):
            return known
        raise
    try:
        return await places.find(playback_id)
    except NotFound:
        kept = await survivor(context.parts.sources, tenant_id, identity.artifact_hash)
        if kept is None:
            raise
        return await places.find(kept.playback_id)


async def _create(info: Info, new: CreateVodUploadInput) -> UploadTicket:
    context, sources = info.context, info.context.parts.sources
    context.principal.require(Scope.WRITE)
    request = NewUpload(
        idempotency_key=new.idempotency_key,
        file_name=new.file_name,
        size_bytes=_whole(new.size_bytes),
        title=new.title or "",
        content_type=new.content_type or "",
    )
    created = await sources.registry.create_upload(context.principal, request)
    numbers = range(1, min(created.part_count, FIRST_PARTS) + 1)
    try:
        parts = await sources.artifacts.presign_parts(context.principal, created.upload.artifact_hash, numbers)
    except Conflict:  # the same request as before, and all of the file is here already
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
    parts = await context.parts.sources.artifacts.presign_parts(context.principal, wanted, numbers)
    return UploadParts(parts=[part_of(part) for part in parts])


async def _complete(info: Info, artifact_hash: str) -> VodPayload:
    """A large file takes its time: whoever waited long enough is told how far it is, and hears the rest live."""
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    try:
        completed = await context.parts.sources.artifacts.complete_upload(
            context.principal, wanted, deadline=COMPLETE_WITHIN
        )
    except DeadlineExceeded:
        completed = UploadState(ArtifactStatus.COMPLETING, revision=0)
    context.changed()
    vod = await find_vod(info, wanted)
    if vod is None:
        raise NotFound("no such upload", why=f"{wanted} was deleted meanwhile")
    if completed.revision >= vod.revision:  # the events are not there yet, but this answer is
        vod = replace(vod, status=completed.status, revision=completed.revision)
    return VodPayload(vod=vod)


async def _abort(info: Info, artifact_hash: str) -> DeletedVod:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    await context.parts.sources.artifacts.abort_upload(context.principal, wanted)
    context.changed()
    return DeletedVod(artifact_hash=wanted)


async def _delete(info: Info, artifact_hash: str) -> DeletedVod:
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    context.principal.require(Scope.WRITE)
    await context.parts.sources.registry.delete_upload(context.principal, wanted)
    context.parts.media.places.forget(wanted)
    context.changed()
    return DeletedVod(artifact_hash=wanted)


async def _vods(info: Info, uploads: Sequence[Upload]) -> list[Vod]:
    lifecycles = await lifecycles_of(info, [upload.artifact_hash for upload in uploads])
    tenant_id, links = info.context.principal.tenant_id, info.context.parts.media.links
    return [vod_of(upload, life, tenant_id, links) for upload, life in zip(uploads, lifecycles, strict=True)]


async def lifecycles_of(info: Info, hashes: Sequence[str]) -> Sequence[Lifecycle]:
    """Asked for all rows at once, and only if somebody wants it."""
    if asks_for(LIFECYCLE_FIELDS, info.selected_fields):
        return await info.context.loaders.lifecycles.load_many(list(hashes))
    return [UNKNOWN] * len(hashes)


def place_of(record: Upload | Clip) -> bytes:
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
        raise InvalidInput("not a size", field="size_bytes", why="it is a whole number of bytes, below 2 to the 53rd")
    return int(size_bytes)
