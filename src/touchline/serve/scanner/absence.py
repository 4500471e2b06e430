"""Files that should be in the bucket and are not, or cannot be read.

Invariant: missing is only what the store says it does not have. Listings come in order, so that artifacts are compared
range by range; in a store that sorts otherwise this costs questions, and no false report. A store that lost its disk
may still list everything: so a few files, other ones each time, are read for real.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import dataclass
from secrets import token_hex

from touchline.contracts.events.artifacts import OriginalReturned, OriginalVanished
from touchline.kernel import Clock
from touchline.kernel.errors import InvalidInput, NotFound, TouchlineError
from touchline.platform.objects.rules import ByteRange
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.serve.artifacts.store import ArtifactStore

from . import rules
from .model import Known, Report, Sample
from .store import ScannerStore

AT_ONCE = 1000
SAMPLED = 20  # artifacts

logger = logging.getLogger(__name__)


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


async def missing_originals(database: Database) -> int:
    """As many as the scanner has noticed."""
    async with database.system("count missing originals") as transaction:
        return (await ScannerStore(transaction.connection).missing(limit=0))[1]


async def sample(database: Database, objects: ObjectStore) -> Sample:
    """A few artifacts beginning anywhere: their hashes are random, so neighbours have nothing in common."""
    async with database.system("sample artifacts whose files should be there") as transaction:
        chosen = await ScannerStore(transaction.connection).files(token_hex(16), SAMPLED)
    keys = [key for files in chosen for key in (files.original_key, files.manifest_key) if key]
    gone, unreadable = list[str](), list[str]()
    for key in keys:
        try:
            await _try_to_read(objects, key)
        except NotFound:
            gone.append(key)
        except TouchlineError as error:
            logger.warning("a file cannot be read", extra={"key": key, "reason": str(error)})
            unreadable.append(key)
    return Sample(len(keys), tuple(gone), tuple(unreadable))


async def _try_to_read(objects: ObjectStore, key: str) -> None:
    """Its beginning and its end: a large one lies in many pieces."""
    size = (await objects.head(key)).size_bytes
    for start in {0, max(size - 1, 0)} if size else ():
        if not await objects.read_range(key, ByteRange(start, start + 1)):
            raise InvalidInput("the object is shorter than the store says", field="range", why=key)
