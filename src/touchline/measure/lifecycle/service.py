"""Answers for a tenant's artifacts by their hashes. Another tenant's hash is as unknown as one that never was.

Invariant: a page of any size is one statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.kernel import TenantId
from touchline.kernel.errors import InvalidInput, LimitExceeded
from touchline.platform.clickhouse.client import Analytics

from . import rules
from .rules import ArtifactEvent, ArtifactState, StorageEvent
from .store import LifecycleStore

MOST_HASHES = 500
MOST_EVENTS = 501  # a page, and one to know that there are more
MOST_TOGETHER = 20_000


class LifecycleService:
    def __init__(self, analytics: Analytics) -> None:
        self._store = LifecycleStore(analytics)

    async def states(self, tenant_id: TenantId, hashes: Sequence[str]) -> list[ArtifactState]:
        """The known ones, each once, in the order in which they were asked for."""
        wanted = _wanted(hashes)
        if not wanted:
            return []
        found = {str(known.artifact_hash): known for known in await self._store.states(tenant_id, wanted)}
        return [rules.conclude(found[one]) for one in wanted if one in found]

    async def events(
        self, tenant_id: TenantId, artifact_hash: str, after: int = 0, limit: int = MOST_EVENTS
    ) -> list[ArtifactEvent]:
        """What happened to one artifact after a position of the log, oldest first."""
        _check(after, limit)
        return await self._store.events(tenant_id, artifact_hash, after, limit)

    async def events_of_many(
        self, tenant_id: TenantId, hashes: Sequence[str], after: int, limit: int
    ) -> list[ArtifactEvent]:
        """The same of each of them, by artifact; `limit` is for each, and all together are bounded too."""
        wanted = _wanted(hashes)
        _check(after, limit)
        if len(wanted) * limit > MOST_TOGETHER:
            raise LimitExceeded("too many events for one call", why=f"artifacts times limit is at most {MOST_TOGETHER}")
        return await self._store.events_of_many(tenant_id, wanted, after, limit) if wanted else []

    async def storage_events(
        self, tenant_id: TenantId, hashes: Sequence[str] = (), after: int = 0, limit: int = MOST_EVENTS
    ) -> list[StorageEvent]:
        """Where bytes went, oldest first: of these artifacts, or of all of the tenant's."""
        _check(after, limit)
        return await self._store.storage_events(tenant_id, _wanted(hashes), after, limit)


def _wanted(hashes: Sequence[str]) -> list[str]:
    wanted = list(dict.fromkeys(hashes))
    if len(wanted) > MOST_HASHES:
        raise LimitExceeded(f"{len(wanted)} artifacts are too many for one call", why=f"the most is {MOST_HASHES}")
    return wanted


def _check(after: int, limit: int) -> None:
    if after < 0:
        raise InvalidInput("there are no such positions", field="after", why="they start at 1")
    if not 1 <= limit <= MOST_EVENTS:
        raise InvalidInput("not a possible number of events", field="limit", why=f"it is 1 to {MOST_EVENTS}")
