"""`POST /clips` creates a clip, as `createClip` does; `GET /media/…` sends the files of an artifact.

Invariant: a media address is checked before anything is looked up, and names are matched as they were sent. No answer
begins before its first bytes were read: a missing or unreadable file is an error, not a broken-off answer. A failure
later ends the connection, so that nobody takes a part for the whole.

Playing without signing in: by a share link, and in a frame of a site that the tenant lists.

Invariants: a link that never was, has expired or was revoked gets one answer, and so does the embedding of an unknown
video and of one whose tenant lists no site. Whoever plays by a link stops with it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated
from urllib.parse import quote
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from touchline.contracts.artifacts import ViewerEndpoint
from touchline.contracts.playback import SharedArtifact
from touchline.contracts.registry import NewClip
from touchline.gateway.auth.rules import WITHOUT_TENANT
from touchline.gateway.composition import Gateway, GatewayComposition, MediaAccess, start_playback, surviving_upload
from touchline.gateway.graphql.serve import with_field_names
from touchline.gateway.media_links import (
    File,
    Keys,
    Link,
    file_is_gone,
    file_is_unreadable,
    file_of,
    frame_of,
    narrower,
    recorded_file,
)
from touchline.gateway.web_page import PlayerPage
from touchline.kernel import (
    Conflict,
    InvalidInput,
    NotFound,
    PlaybackId,
    Scope,
    TenantId,
    TouchlineError,
    Unavailable,
    artifact_hash,
    parse_playback_id,
    video_id,
)
from touchline.platform.objects.rules import ByteRange, ObjectInfo
from touchline.serve.playback.files import CLIP, MANIFEST, POSTER, no_such_file, wanted_bytes
from touchline.serve.playback.rules import no_such_link
from touchline.serve.playback.tokens import Grant

from .callers import RESPONSES, CurrentPrincipal, RequestBody, problem, request_id_of
from .live_media import live_file

clip_router = APIRouter(tags=["clips"], responses=RESPONSES)
FIELDS = {"source_hash": "video_id", "artifact_hash": "video_id", "start_ms": "t_start", "end_ms": "t_end"}
LARGEST = 2**53
Milliseconds = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]


class ClipBody(RequestBody):
    model_config = ConfigDict(extra="forbid")

    video_id: UUID
    t_start: Milliseconds
    t_end: Milliseconds
    padding_ms: Milliseconds | None = None
    title: str = ""
    description: str = ""
    idempotency_key: str = ""


class ClipAnswer(BaseModel):
    clip_id: UUID
    status: str


@clip_router.post("/clips", status_code=202)
async def create_clip(body: ClipBody, principal: CurrentPrincipal, gateway: Gateway) -> ClipAnswer:
    principal.require(Scope.WRITE)
    request = NewClip(
        source_hash=artifact_hash(body.video_id),
        start_ms=body.t_start,
        end_ms=body.t_end,
        padding_ms=body.padding_ms,
        title=body.title,
        description=body.description,
        idempotency_key=body.idempotency_key,
        requested_params=body.model_dump(mode="json", exclude_unset=True),
    )
    with with_field_names(FIELDS):
        created = await gateway.graphql.sources.registry.create_clip(principal, request)
    return ClipAnswer(clip_id=video_id(created.clip.artifact_hash), status=created.status)


# --- Media.

media_router = APIRouter(tags=["media"], responses=RESPONSES)
ADDRESS = "/media/{token}/{artifact_hash}/{name:path}"
RANGE_NOT_SATISFIABLE = 416
GONE = 410
REPLACED = 302
Width = Annotated[int | None, Query(ge=1, le=10_000)]
logger = logging.getLogger(__name__)


@media_router.get(ADDRESS, response_model=None)
@media_router.head(ADDRESS, response_model=None, include_in_schema=False)
async def media_file(
    request: Request, token: str, artifact_hash: str, name: str, gateway: Gateway, width: Width = None
) -> Response:
    """A poster with a `width` comes in the smallest size that is made and wide enough, and never enlarged."""
    media = gateway.media
    grant = media.tokens.read(token, artifact_hash, media.clock.now())
    await media.access.require(grant)
    if b"%" in request.scope.get("raw_path", b""):
        raise no_such_file()  # none of our names needs it, and a slash or a dot could hide behind it
    try:
        viewable = await _granted(media, grant)
    except NotFound:
        if elsewhere := await _elsewhere(gateway, grant, name):
            return elsewhere
        raise
    if viewable.is_live:
        return await live_file(request, media, grant, viewable, name)
    if name == MANIFEST:
        await start_playback(gateway.graphql.sources, viewable)
    keys = Keys(viewable.manifest_key, viewable.poster_key, viewable.clip_key)
    special = frame_of(name, viewable.artifact_hash) or recorded_file(name, viewable.artifact_hash)
    file = special or file_of(name, keys, viewable.title)
    smaller = narrower(file, width) if width and name == POSTER else None
    try:
        if smaller:
            with suppress(NotFound):  # a small video, or one from before there were any
                return await _answer(request, media, grant, smaller)
        return await _answer(request, media, grant, file)
    except NotFound as error:
        if name not in {MANIFEST, POSTER, CLIP}:
            raise no_such_file() from error  # the store's words name its key
        return problem(file_is_gone(), request_id_of(request), GONE)  # it should be there, and no new address helps


async def _granted(media: MediaAccess, grant: Grant) -> ViewerEndpoint:
    found = await media.places.find(grant.playback_id)
    if (found.artifact_hash, found.tenant_id) != (grant.artifact_hash, grant.tenant_id):
        raise no_such_file()
    return found


async def _elsewhere(gateway: GatewayComposition, grant: Grant, name: str) -> Response | None:
    """A better copy took its place: a player begins anew there. Segments of two videos do not fit together."""
    if name not in {MANIFEST, POSTER}:
        return None
    kept = await surviving_upload(gateway.graphql.sources, grant.tenant_id, grant.artifact_hash)
    if kept is None:
        return None
    there = replace(grant, playback_id=kept.playback_id, artifact_hash=kept.artifact_hash)
    link = gateway.media.links.signed(there, name)
    return RedirectResponse(link.url, REPLACED, {"Cache-Control": "no-store"})


async def _answer(request: Request, media: MediaAccess, grant: Grant, file: File) -> Response:
    info = await media.objects.head(file.key)
    headers = _headers(file, info)
    if _has(request.headers.get("if-none-match"), headers["ETag"]):
        return Response(status_code=304, headers=headers)
    try:
        part = wanted_bytes(_range_header(request, headers["ETag"]), info.size_bytes)
    except InvalidInput as error:
        refusal = problem(error, request_id_of(request), RANGE_NOT_SATISFIABLE)
        refusal.headers["Content-Range"] = f"bytes */{info.size_bytes}"
        return refusal
    if request.method == "HEAD":
        return _without_body(info, part, headers)
    return await _body(Sending(media, grant, info), part, headers)


def _headers(file: File, info: ObjectInfo) -> dict[str, str]:
    headers = {
        "Content-Type": file.content_type,
        "Cache-Control": file.cache_control,
        "Accept-Ranges": "bytes",
        "ETag": f'"{info.etag}"',
    }
    if file.download_name:  # RFC 6266: any script, and nothing that ends the header
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(file.download_name, safe='')}"
    return headers


def _without_body(info: ObjectInfo, part: ByteRange | None, headers: dict[str, str]) -> Response:
    status, start, stop = _extent(info, part)
    return Response(status_code=status, headers=headers | _lengths(info, part, stop - start))


def _extent(info: ObjectInfo, part: ByteRange | None) -> tuple[int, int, int]:
    return (206, part.start, part.stop or 0) if part else (200, 0, info.size_bytes)


def _lengths(info: ObjectInfo, part: ByteRange | None, length: int) -> dict[str, str]:
    found = {"Content-Length": str(length)}
    if part:
        found["Content-Range"] = f"bytes {part.start}-{(part.stop or 0) - 1}/{info.size_bytes}"
    return found


@dataclass(frozen=True, slots=True)
class Sending:
    """An answer under way."""

    media: MediaAccess
    grant: Grant
    info: ObjectInfo

    async def whole(self, first: bytes, rest: AsyncIterator[bytes], promised: int) -> AsyncIterator[bytes]:
        """No more than was promised: it may have been written again since it was looked at. It breaks off when what
        allows it ends."""
        promised -= len(first)
        yield first
        async for chunk in rest:
            promised -= len(chunk)
            if promised < 0:
                break
            await self.media.access.require(self.grant)
            yield chunk
        if promised:
            raise Unavailable("the file ended early", why="its length changed while it was sent")


async def _body(sending: Sending, part: ByteRange | None, headers: dict[str, str]) -> Response:
    info = sending.info
    status, start, stop = _extent(info, part)
    headers |= _lengths(info, part, stop - start)
    if stop == start:
        return Response(status_code=status, headers=headers)
    chunks = sending.media.objects.stream(info.key, part)
    try:
        first = await anext(chunks)
    except NotFound:
        raise
    except TouchlineError as error:
        logger.warning("a file that the store lists cannot be read", extra={"key": info.key, "reason": str(error)})
        raise file_is_unreadable() from error
    return StreamingResponse(sending.whole(first, chunks, stop - start), status, headers)


def _range_header(request: Request, etag: str) -> str | None:
    """A range of an older copy is of no use: then the whole is sent."""
    condition = request.headers.get("if-range")
    return request.headers.get("range") if condition is None or condition == etag else None


def _has(header: str | None, etag: str) -> bool:
    return header is not None and (header.strip() == "*" or etag in (part.strip() for part in header.split(",")))


NOT_FOUND = 404
playback_router = APIRouter(tags=["playback"], responses=RESPONSES)


class PublicPlayback(BaseModel):
    """Signed, expiring addresses for somebody who is not signed in."""

    title: str
    manifest_url: str
    poster_url: str | None
    duration_ms: int | None
    expires_at: datetime


@playback_router.get("/api/share/{share_token}")
async def open_share_link(share_token: str, gateway: Gateway) -> PublicPlayback:
    """What a share link plays, for whoever has it."""
    sources, media = gateway.graphql.sources, gateway.media
    shared = await sources.playback.open_share_link(share_token)
    if not await media.access.is_allowed(shared.tenant_id, shared.link_id):
        raise no_such_link()
    try:
        found = await _playable(gateway, shared)
    except NotFound as error:
        raise no_such_link() from error
    there = replace(shared, playback_id=found.playback_id, artifact_hash=found.artifact_hash)
    manifest = media.links.shared(there, MANIFEST)
    return _public(found, manifest, media.links.shared(there, POSTER) if found.poster_key else None)


@playback_router.get("/api/embed/{playback_id}")
async def open_embed(playback_id: str, gateway: Gateway) -> PublicPlayback:
    """What a frame on a listed site plays, for whoever knows the playback id."""
    links, (found, origins) = gateway.media.links, await _embedded(gateway, playback_id)
    if found is None or not origins:
        raise NotFound("there is nothing to play here", hint="Ask the owner of the page that embeds this video.")
    ids = found.tenant_id, found.playback_id, found.artifact_hash
    return _public(found, links.manifest(*ids), links.poster(*ids) if found.poster_key else None)


def build_player(page: PlayerPage) -> APIRouter:
    router = APIRouter(include_in_schema=False)

    async def share() -> Response:
        """The same document for every link: what there is to play, its script asks for."""
        return page.answer()

    async def embed(playback_id: str, gateway: Gateway) -> Response:
        found, origins = await _embedded(gateway, playback_id)
        allowed = origins if found else ()
        return page.answer(allowed, 200 if allowed else NOT_FOUND)

    router.add_api_route("/share/{share_token}", share, methods=["GET", "HEAD"])
    router.add_api_route("/embed/{playback_id}", embed, methods=["GET", "HEAD"])
    return router


async def _playable(gateway: GatewayComposition, shared: SharedArtifact) -> ViewerEndpoint:
    """A better copy may have taken its place."""
    try:
        return await gateway.media.places.find(shared.playback_id)
    except NotFound:
        kept = await surviving_upload(gateway.graphql.sources, shared.tenant_id, shared.artifact_hash)
        if kept is None:
            raise
        return await gateway.media.places.find(kept.playback_id)


async def _embedded(gateway: GatewayComposition, text: str) -> tuple[ViewerEndpoint | None, tuple[str, ...]]:
    """What it is, and which sites may show it. What cannot be played yet is as unknown here as what never was, and
    costs the question for its tenant's sites, too."""
    try:
        found = await gateway.media.places.find(PlaybackId(parse_playback_id(text)))
    except (InvalidInput, NotFound, Conflict):
        found = None
    tenant_id: TenantId = found.tenant_id if found else WITHOUT_TENANT
    return found, await gateway.auth.administration.tenants.embed_origins(tenant_id)


def _public(found: ViewerEndpoint, manifest: Link, poster: Link | None) -> PublicPlayback:
    return PublicPlayback(
        title=found.title,
        manifest_url=manifest.url,
        poster_url=poster.url if poster else None,
        duration_ms=found.duration_ms,
        expires_at=manifest.expires_at,
    )
