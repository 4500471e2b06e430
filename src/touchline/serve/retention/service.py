"""Uploads whose time is over are deleted. When the time to undelete is over too, the other planes are asked to delete
what they hold.

Invariant: asked once for each artifact, a bounded number in a pass; what is pinned is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchline.contracts.events.artifacts import PurgeDue
from touchline.kernel import Clock
from touchline.platform.postgres.database import Database
from touchline.serve.artifacts import changes
from touchline.serve.settings import ServeSettings

from .store import is_overdue, overdue_uploads, purge_due, to_purge


@dataclass(frozen=True, slots=True)
class PurgeCaller:
    database: Database
    settings: ServeSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """True when more are waiting."""
        now, most = self.clock.now(), self.settings.most_per_pass
        before = now - self.settings.purge_after
        async with self.database.system("find artifacts to purge") as transaction:
            places = await to_purge(transaction.connection, before, most)
        for place in places:
            async with self.database.transaction(place.tenant_id) as transaction:
                revision = await purge_due(transaction, place.artifact_hash, before, now)
                if revision is not None:
                    transaction.announce(PurgeDue(artifact_hash=place.artifact_hash), revision=revision)
        return len(places) == most


@dataclass(frozen=True, slots=True)
class Expiry:
    """Of uploads: clips have their own."""

    database: Database
    settings: ServeSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """True when more are waiting."""
        now, most = self.clock.now(), self.settings.most_per_pass
        async with self.database.system("find uploads that are over their time") as transaction:
            places = await overdue_uploads(transaction.connection, now, most)
        for place in places:
            async with self.database.transaction(place.tenant_id) as transaction:
                if await is_overdue(transaction, place.artifact_hash, now):
                    await changes.delete(transaction, place.artifact_hash, now)
        return len(places) == most
