"""Where to play a video: endpoints of viewers, share links, and the sites that may embed a tenant's videos.

Invariants: another tenant's id costs and answers like one that does not exist. A share link's address is in the answer
to its creation and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import strawberry

from touchline.contracts import playback as contract
from touchline.contracts.artifacts import ViewerEndpoint as Resolved
from touchline.gateway.auth.rules import Actor
from touchline.gateway.composition import start_playback
from touchline.gateway.media_links import EndpointAddress, Link, endpoint_addresses
from touchline.kernel import Scope, parse_artifact_hash, parse_playback_id

from . import results
from .context import Info
from .serve import find_endpoint

HLS = "hls"
LIVE = "live"

# --- Endpoints.


@strawberry.type(description="One place that serves the video, with a signed URL that expires.")
class ViewerEndpoint:
    node_id: str | None = strawberry.field(
        description="Null is the gateway, which streams from wherever the bytes are."
    )
    protocol: str = strawberry.field(description="hls.")
    base_url: str
    url: str


@strawberry.type
class PlaybackMetadata:
    artifact_hash: str
    playback_id: str
    content_type: str = strawberry.field(description="upload, clip, dvr or live.")
    status: str
    title: str
    duration_ms: float | None
    width: int | None
    height: int | None
    size_bytes: float | None
    created_at: datetime
    poster_url: str | None = strawberry.field(description="At the gateway.")


@strawberry.type(description="Where to play something now: try the primary, then the fallbacks in their order.")
class ViewerEndpoints:
    primary: ViewerEndpoint
    fallbacks: list[ViewerEndpoint]
    metadata: PlaybackMetadata
    expires_at: datetime


ResolveViewerEndpointResult = Annotated[
    ViewerEndpoints
    | results.NotFoundError
    | results.AuthError
    | results.ConflictError
    | results.UnavailableError
    | results.WarmingError,
    strawberry.union("ResolveViewerEndpointResult"),
]


async def _resolve(info: Info, playback_id: str) -> ViewerEndpoints:
    context, media = info.context, info.context.composition.media
    context.principal.require(Scope.READ)
    found = await find_endpoint(context, parse_playback_id(playback_id), fresh=True)
    await start_playback(context.composition.sources, found)
    ids = found.tenant_id, found.playback_id, found.artifact_hash
    manifest, gateway_url = media.links.manifest(*ids), context.composition.gateway_url
    primary, *fallbacks = map(_shown, endpoint_addresses(found.nodes, gateway_url, manifest.url))
    poster = media.links.poster(*ids) if found.poster_key else None
    return ViewerEndpoints(
        primary=primary,
        fallbacks=fallbacks,
        metadata=_metadata(found, gateway_url, poster),
        expires_at=manifest.expires_at,
    )


def _shown(address: EndpointAddress) -> ViewerEndpoint:
    return ViewerEndpoint(node_id=address.node_id, protocol=HLS, base_url=address.base_url, url=address.url)


def _metadata(found: Resolved, gateway_url: str, poster: Link | None) -> PlaybackMetadata:
    return PlaybackMetadata(
        artifact_hash=found.artifact_hash,
        playback_id=found.playback_id,
        content_type=found.artifact_type or LIVE,
        status=found.status,
        title=found.title,
        duration_ms=found.duration_ms,
        width=found.width,
        height=found.height,
        size_bytes=found.size_bytes,
        created_at=found.created_at,
        poster_url=f"{gateway_url}{poster.url}" if poster else None,
    )


# --- Share links.


@strawberry.type(description="Plays one video without signing in, until it expires or is revoked.")
class ShareLink:
    id: strawberry.ID
    artifact_hash: str
    created_by: str | None = strawberry.field(description="The name of the user who made it; null if there is none.")
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@strawberry.type
class CreatedShareLink:
    share_link: ShareLink
    url: str = strawberry.field(description="Shown once: only its hash is kept.")


@strawberry.input
class CreateShareLinkInput:
    artifact_hash: str
    expires_at: datetime | None = strawberry.field(default=None, description="Default: `serve.share_link_lifetime`.")


CreateShareLinkResult = Annotated[
    CreatedShareLink
    | results.ValidationError
    | results.NotFoundError
    | results.AuthError
    | results.RateLimitError
    | results.UnavailableError,
    strawberry.union("CreateShareLinkResult"),
]


@strawberry.type
class RevokedShareLink:
    share_link: ShareLink


RevokeShareLinkResult = Annotated[
    RevokedShareLink | results.NotFoundError | results.AuthError | results.UnavailableError,
    strawberry.union("RevokeShareLinkResult"),
]


async def _links(info: Info, links: Sequence[contract.ShareLink]) -> list[ShareLink]:
    names = await info.context.loaders.actor_names.load_many([str(link.created_by) for link in links])
    return [
        ShareLink(
            id=strawberry.ID(str(link.id)),
            artifact_hash=link.artifact_hash,
            created_by=name,
            created_at=link.created_at,
            expires_at=link.expires_at,
            revoked_at=link.revoked_at,
        )
        for link, name in zip(links, names, strict=True)
    ]


async def _create(info: Info, new: CreateShareLinkInput) -> CreatedShareLink:
    context, wanted = info.context, parse_artifact_hash(new.artifact_hash)
    context.principal.require(Scope.WRITE)
    playback = context.composition.sources.playback
    created = await playback.create_share_link(context.principal, wanted, new.expires_at)
    [link] = await _links(info, [created.link])
    return CreatedShareLink(share_link=link, url=f"{context.composition.gateway_url}/share/{created.token}")


async def _revoke(info: Info, link_id: str) -> RevokedShareLink:
    context = info.context
    context.principal.require(Scope.WRITE)
    revoked = await context.composition.sources.playback.revoke_share_link(context.principal, link_id)
    [link] = await _links(info, [revoked])
    return RevokedShareLink(share_link=link)


# --- Embedding.


@strawberry.type
class EmbedOrigins:
    origins: list[str] = strawberry.field(
        description="Sites that may embed the tenant's videos, at /embed/{playbackId}. While there "
        "is one, whoever knows a playback id may play the video there; with none, nobody can."
    )


SetEmbedOriginsResult = Annotated[
    EmbedOrigins | results.ValidationError | results.AuthError | results.UnavailableError,
    strawberry.union("SetEmbedOriginsResult"),
]


async def _set_origins(info: Info, origins: Sequence[str]) -> EmbedOrigins:
    principal, tenants = info.context.principal, info.context.composition.auth.administration.tenants
    tenant = await tenants.set_embed_origins(Actor.of(principal), principal.tenant_id, origins)
    return EmbedOrigins(origins=list(tenant.embed_origins))


# --- Fields.


@strawberry.type
class PlaybackQueries:
    @strawberry.field(
        description="Where to play a video: nodes that have a copy, and the gateway. Only what can be played."
    )
    async def resolve_viewer_endpoint(self, info: Info, playback_id: str) -> ResolveViewerEndpointResult:
        return await results.as_result(ResolveViewerEndpointResult, _resolve(info, playback_id))

    @strawberry.field(description="Newest first, including expired and revoked ones.")
    async def share_links(self, info: Info, artifact_hash: str) -> list[ShareLink]:
        context = info.context
        context.principal.require(Scope.READ)
        wanted = parse_artifact_hash(artifact_hash)
        return await _links(info, await context.composition.sources.playback.share_links(context.principal, wanted))

    @strawberry.field
    async def embed_origins(self, info: Info) -> EmbedOrigins:
        principal, tenants = info.context.principal, info.context.composition.auth.administration.tenants
        principal.require(Scope.READ)
        return EmbedOrigins(origins=list(await tenants.embed_origins(principal.tenant_id)))


@strawberry.type
class PlaybackMutations:
    @strawberry.mutation
    async def create_share_link(self, info: Info, input: CreateShareLinkInput) -> CreateShareLinkResult:  # noqa: A002  its name in the schema
        return await results.as_result(CreateShareLinkResult, _create(info, input))

    @strawberry.mutation(description="Players that use it stop within seconds.")
    async def revoke_share_link(self, info: Info, id: str) -> RevokeShareLinkResult:  # noqa: A002  its name in the schema
        return await results.as_result(RevokeShareLinkResult, _revoke(info, id))

    @strawberry.mutation(description="Replaces the whole list. For administrators of the tenant.")
    async def set_embed_origins(self, info: Info, origins: list[str]) -> SetEmbedOriginsResult:
        return await results.as_result(SetEmbedOriginsResult, _set_origins(info, origins))
