"""Where a video went that a better copy replaced: its addresses lead to the copy that is kept.

Invariant: nothing leaves its tenant; a video whose goal was taken away leads nowhere.
"""

from __future__ import annotations

from uuid import UUID

from touchline.contracts.registry import Upload
from touchline.gateway.graphql.sources import Sources
from touchline.kernel import Principal, Role, Scope, TenantId, UserId

NOBODY = UserId(UUID(int=0))  # an address speaks for its tenant, not for a person


async def survivor(sources: Sources, tenant_id: TenantId, artifact_hash: str) -> Upload | None:
    """The kept copy, if it is another one than this."""
    kept = await sources.matches.surviving(tenant_id, artifact_hash)
    if kept is None or kept == artifact_hash:
        return None
    reader = Principal(tenant_id, NOBODY, Role.VIEWER, frozenset({Scope.READ}))
    return next(iter(await sources.registry.uploads(reader, [kept])), None)
