"""Uploads whose time is over are deleted. When the time to undelete is over too, the other planes are asked to delete
what they hold.

Invariant: asked once for each artifact, a bounded number in a pass; what is pinned is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import PurgeDue
from touchline.contracts.events.videos import VideoPurged
from touchline.kernel import Clock
from touchline.kernel.errors import Conflict
from touchline.kernel.ids import ArtifactHash
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.serve.artifacts import transitions
from touchline.serve.settings import ServeSettings

from .store import Original, is_overdue, originals_to_purge, others_gone, overdue_uploads, purge_due, purged, to_purge


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
                    await transitions.delete(transaction, place.artifact_hash, now)
        return len(places) == most


# The last step of a purge: the original goes when the other planes have said that nothing else is left. Invariant: by
# the keys that were written down, and looked at afterwards; what cannot be deleted stays due.


class PurgeConfirmations:
    name = "serve-purges"
    types = frozenset({VideoPurged.event_type})

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            gone = VideoPurged.model_validate(event.data)
            await others_gone(transaction, ArtifactHash(gone.artifact_hash), self._clock.now())


@dataclass(frozen=True, slots=True)
class OriginalPurger:
    database: Database
    objects: ObjectStore
    settings: ServeSettings
    clock: Clock

    async def run_pass(self) -> bool:
        """True when more are waiting."""
        most = self.settings.most_per_pass
        async with self.database.system("find originals to purge") as transaction:
            originals = await originals_to_purge(transaction.connection, most)
        for original in originals:
            await self._purge(original)
        return len(originals) == most

    async def _purge(self, original: Original) -> None:
        for key in filter(None, (original.original_key, original.watched_key)):
            await self.objects.delete(key)
            if await self.objects.exists(key):
                raise Conflict("an original cannot be deleted", why=key)
        async with self.database.transaction(original.tenant_id) as transaction:
            await purged(transaction, original.artifact_hash, self.clock.now())
