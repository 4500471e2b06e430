"""Originals that should be in the bucket and are not.

Invariant: missing is only what the store says it does not have. Listings come in order, so that artifacts are compared
range by range; in a store that sorts otherwise this costs questions, and no false report.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from touchline.contracts.events.artifacts import OriginalReturned, OriginalVanished
from touchline.kernel import Clock
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.artifacts.store import ArtifactStore

from . import rules
from .model import Known, Report
from .store import ScannerStore

AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Absence:
    database: Database
    objects: ObjectStore
    clock: Clock
    most: int  # reports of one pass: a wrong bucket is one mistake, not a hundred thousand

    async def look(self, present: Collection[str], after: str, until: str, report: Report) -> None:
        """Behind `after`, up to and with `until`."""
        while after < until and report.vanished_count < self.most:
            async with self.database.system("find artifacts whose original should be there") as transaction:
                store = ScannerStore(transaction.connection)
                expected = await store.expected(after, until, rules.ORIGINALS, AT_ONCE)
            for known in expected:
                if known.artifact_hash not in present and report.vanished_count < self.most:
                    await self._look_for(known, report)
            after = expected[-1].artifact_hash if len(expected) == AT_ONCE else until

    async def returned(self, known: Known) -> bool:
        async with self.database.transaction(known.tenant_id) as transaction:
            changed = await ArtifactStore(transaction).original_missing(known.artifact_hash, None)
            if changed is not None:
                back = OriginalReturned(artifact_hash=known.artifact_hash, original_key=known.original_key)
                transaction.announce(back, revision=changed.revision)
        return changed is not None

    async def _look_for(self, known: Known, report: Report) -> None:
        if await self.objects.exists(known.original_key):
            return
        now = self.clock.now()
        async with self.database.transaction(known.tenant_id) as transaction:
            changed = await ArtifactStore(transaction).original_missing(known.artifact_hash, now)
            if changed is not None:
                gone = OriginalVanished(
                    artifact_hash=known.artifact_hash, original_key=known.original_key, missing_since=now
                )
                transaction.announce(gone, revision=changed.revision)
                report.vanish(known.artifact_hash)
