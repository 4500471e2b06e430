"""Where a video went that a better copy replaced: its addresses lead to the copy that is kept.

Invariant: nothing leaves its tenant; a video whose goal was taken away leads nowhere.
"""

from __future__ import annotations

from uuid import UUID

from touchline.gateway.graphql.sources import Sources
from touchline.kernel import Principal, Role, Scope, TenantId, UserId
from touchline.kernel.ids import PlaybackId
from touchline.serve.registry.model import Upload

NOBODY = UserId(UUID(int=0))  # an address speaks for its tenant, not for a person


async def survivor(sources: Sources, tenant_id: TenantId, artifact_hash: str) -> Upload | None:
    """The kept copy, if it is another one than this."""
    kept = await sources.matches.surviving(tenant_id, artifact_hash)
    if kept is None or kept == artifact_hash:
        return None
    reader = Principal(tenant_id, NOBODY, Role.VIEWER, frozenset({Scope.READ}))
    return next(iter(await sources.registry.uploads(reader, [kept])), None)


async def survivor_of(sources: Sources, tenant_id: TenantId, playback_id: PlaybackId) -> Upload | None:
    """The same by the public id of what was replaced, which nobody else gets."""
    identity = await sources.registry.resolve_playback_id(playback_id)
    if identity.tenant_id != tenant_id:
        return None
    return await survivor(sources, tenant_id, identity.artifact_hash)
