"""Playing artifacts: where a viewer gets one, and share links, by which people play one without signing in.

Invariants: only what can be played now is resolved; unknown and deleted are the same. A link's token is kept as a hash
and shown once. `PlaybackRole` checks every call, by RPC or from this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus, ViewerEndpoint, ViewerNode
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.events.playback import ShareLinkCreated, ShareLinkRevoked
from touchline.contracts.playback import CreatedShareLink, SharedArtifact, ShareLink
from touchline.contracts.registry import Stream
from touchline.kernel import (
    ArtifactHash,
    Clock,
    Conflict,
    InvalidInput,
    NotFound,
    PlaybackId,
    Principal,
    Scope,
    TenantId,
    TouchlineError,
    parse_artifact_hash,
    parse_playback_id,
    uuid7,
)
from touchline.platform.postgres.database import Database
from touchline.platform.rpc.calls import answering, require
from touchline.serve.artifacts.rules import PLAYABLE, Artifact, unknown
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.context import WITHOUT_TENANT
from touchline.serve.nodes.rules import Node, NodeStatus
from touchline.serve.nodes.store import NodeStore
from touchline.serve.registry.store import RegistryStore, find_playback_id
from touchline.serve.settings import ServeSettings
from touchline.serve.streams.store import StreamStore
from touchline.serve.tiers.queries import CopyPlace, copies_of

from . import rules
from .files import POSTER
from .store import NewShareLink, ShareLinkStore, find_share_link

MOST_LISTED = 500

# --- Where a viewer gets an artifact, by its public id.


class PlaybackService:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def resolve(self, text: str) -> ViewerEndpoint:
        try:
            playback_id = parse_playback_id(text)
        except InvalidInput as error:
            raise _nothing_behind() from error
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            place = await find_playback_id(transaction.connection, playback_id)
            if place is None:
                raise _nothing_behind()
            await transaction.enter_tenant(place.tenant_id)
            if stream := await StreamStore(transaction).find(UUID(hex=place.artifact_hash)):
                node = await NodeStore(transaction.connection).find(stream.live.node_id) if stream.live else None
                return live_endpoint(place.tenant_id, stream, node)
            artifact = await ArtifactStore(transaction).find(place.artifact_hash)
            words = await RegistryStore(transaction).words(place.artifact_hash)
            nodes = await copies_of(transaction, place.artifact_hash)
        if artifact is None or words is None:
            raise _nothing_behind()
        return _endpoint(playback_id, artifact, words.title, nodes)


def live_endpoint(tenant_id: TenantId, stream: Stream, node: Node | None) -> ViewerEndpoint:
    """A stream is at one node, which the gateway stands behind. Conflict: it is not live."""
    live = stream.live
    if live is None or node is None or node.status is not NodeStatus.PRESENT:
        hint = "Ask again when its publisher is back."
        raise Conflict("this stream is not live", why=stream.live_problem or "nobody publishes it now", hint=hint)
    return ViewerEndpoint(
        artifact_hash=stream.artifact_hash,
        tenant_id=tenant_id,
        playback_id=stream.playback_id,
        manifest_key="",
        poster_key=POSTER,
        title=stream.title,
        duration_ms=None,
        clip_key="",
        artifact_type=None,
        status=ArtifactStatus.READY if live.playable_at else ArtifactStatus.STARTING,
        width=live.health.width if live.health else None,
        height=live.health.height if live.health else None,
        size_bytes=None,
        created_at=live.since,
        nodes=(ViewerNode(node.node_id, node.base_url),),
    )


def _endpoint(playback_id: PlaybackId, artifact: Artifact, title: str, nodes: Sequence[CopyPlace]) -> ViewerEndpoint:
    if artifact.status not in PLAYABLE or artifact.manifest_key is None:
        raise _not_playable(artifact)
    return ViewerEndpoint(
        artifact_hash=artifact.artifact_hash,
        tenant_id=artifact.tenant_id,
        playback_id=playback_id,
        manifest_key=artifact.manifest_key,
        poster_key=artifact.poster_key or "",
        title=title,
        duration_ms=artifact.duration_ms,
        clip_key=artifact.original_key if artifact.artifact_type is ArtifactType.CLIP else "",
        artifact_type=artifact.artifact_type,
        status=artifact.status,
        width=artifact.width,
        height=artifact.height,
        size_bytes=artifact.size_bytes,
        created_at=artifact.created_at,
        nodes=tuple(ViewerNode(node.node_id, node.base_url) for node in nodes),
    )


def _not_playable(artifact: Artifact) -> TouchlineError:
    if artifact.status is ArtifactStatus.DELETED:
        return _nothing_behind()
    if artifact.status is ArtifactStatus.FAILED:
        hint = "Its page shows what went wrong; editors can retry it there."
        return Conflict("this video cannot be played", why="it could not be processed", hint=hint)
    return Conflict("this video cannot be played yet", why=f"it is {artifact.status}", hint="Try again a little later.")


def _nothing_behind() -> NotFound:
    return NotFound("there is nothing at this address")


# --- Share links.


class ShareLinkService:
    def __init__(self, database: Database, settings: ServeSettings, clock: Clock) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock

    async def create(
        self, caller: Principal, artifact_hash: ArtifactHash, expires_at: datetime | None
    ) -> CreatedShareLink:
        now = self._clock.now()
        end, token = rules.valid_end(expires_at, now, self._settings), rules.new_token()
        async with self._database.transaction(caller) as transaction:
            artifact = await ArtifactStore(transaction).find_locked(artifact_hash)  # what is counted stays true
            if artifact is None or artifact.status is ArtifactStatus.DELETED:
                raise unknown(artifact_hash)
            store = ShareLinkStore(transaction)
            rules.require_room(await store.count_valid(artifact_hash, now), self._settings)
            new = NewShareLink(uuid7(now), artifact_hash, rules.token_hash(token), caller.user_id, end)
            link = await store.add(new, now)
            transaction.announce(
                ShareLinkCreated(
                    share_link_id=link.id, artifact_hash=artifact_hash, by=str(caller.user_id), expires_at=end
                ),
                revision=link.revision,
            )
        return CreatedShareLink(link, token)

    async def of_artifact(self, caller: Principal, artifact_hash: ArtifactHash) -> Sequence[ShareLink]:
        async with self._database.transaction(caller) as transaction:
            return await ShareLinkStore(transaction).of_artifact(artifact_hash, MOST_LISTED)

    async def revoke(self, caller: Principal, link_id: UUID) -> ShareLink:
        async with self._database.transaction(caller) as transaction:
            store = ShareLinkStore(transaction)
            revoked = await store.revoke(link_id, self._clock.now())
            if revoked is None:
                link = await store.get(link_id)
                if link is None:
                    raise rules.unknown_link()
                return link
            payload = ShareLinkRevoked(
                share_link_id=link_id, artifact_hash=revoked.artifact_hash, by=str(caller.user_id)
            )
            transaction.announce(payload, revision=revoked.revision)
            return revoked

    async def open(self, token: str) -> SharedArtifact:
        wanted = rules.token_hash(token)
        async with self._database.transaction(WITHOUT_TENANT) as transaction:
            found = await find_share_link(transaction.connection, wanted)
            if found is None:
                raise rules.no_such_link()
            await transaction.enter_tenant(found.tenant_id)
            link = await ShareLinkStore(transaction).get(found.id)
            identity = link and await RegistryStore(transaction).identity(link.artifact_hash)
        if link is None or identity is None or not rules.is_valid(link, self._clock.now()):
            raise rules.no_such_link()
        return SharedArtifact(
            link.id, identity.tenant_id, identity.artifact_hash, identity.playback_id, link.expires_at
        )

    async def is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        async with self._database.transaction(tenant_id) as transaction:
            link = await ShareLinkStore(transaction).get(link_id)
        return link is not None and rules.is_valid(link, self._clock.now())


class PlaybackRole:
    """`PlaybackClient` by the service itself: each call is checked, and has a deadline."""

    def __init__(self, links: ShareLinkService, deadline: timedelta) -> None:
        self._links = links
        self._deadline = deadline

    async def create_share_link(
        self, caller: Principal, artifact_hash: str, expires_at: datetime | None = None
    ) -> CreatedShareLink:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._links.create(caller, parse_artifact_hash(artifact_hash), expires_at)

    async def share_links(self, caller: Principal, artifact_hash: str) -> Sequence[ShareLink]:
        async with answering(self._deadline):
            require(caller, Scope.READ)
            return await self._links.of_artifact(caller, parse_artifact_hash(artifact_hash))

    async def revoke_share_link(self, caller: Principal, link_id: str) -> ShareLink:
        async with answering(self._deadline):
            require(caller, Scope.WRITE)
            return await self._links.revoke(caller, rules.valid_link_id(link_id))

    async def open_share_link(self, token: str) -> SharedArtifact:
        async with answering(self._deadline):
            return await self._links.open(token)

    async def share_link_is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        async with answering(self._deadline):
            return await self._links.is_valid(tenant_id, link_id)
