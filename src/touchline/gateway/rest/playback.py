"""Playing without signing in: by a share link, and in a frame of a site that the tenant lists.

Invariants: a link that never was, has expired or was revoked gets one answer, and so does the embedding of an unknown
video and of one whose tenant lists no site. Whoever plays by a link stops with it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import BaseModel

from touchline.contracts.artifacts import ViewerEndpoint
from touchline.contracts.playback import SharedArtifact
from touchline.gateway.auth.rules import WITHOUT_TENANT
from touchline.gateway.composition import Gateway, GatewayComposition
from touchline.gateway.graphql.sources import surviving_upload
from touchline.gateway.media.links import Link
from touchline.gateway.web_page import PlayerPage
from touchline.kernel import Conflict, InvalidInput, NotFound, PlaybackId, TenantId, parse_playback_id
from touchline.serve.playback.files import MANIFEST, POSTER
from touchline.serve.playback.rules import no_such_link

from .problems import RESPONSES

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
        raise NotFound("there is nothing to play here", hint="Ask whoever runs the page that shows this.")
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
