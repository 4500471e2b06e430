"""Deletes what this plane holds of a video, looks whether it is gone, and says so.

Invariant: asked once or often, killed anywhere, on two machines at once: the end is the same. The rows go first, so
that a worker at the video loses its lease; the objects are looked at again when it has surely stopped. Then it is told.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from touchline.contracts.events.videos import VideoPurged
from touchline.kernel.ids import artifact_hash
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.logs.rules import log_key
from touchline.process.queue.service import announce_change
from touchline.process.queue.store import JobStore
from touchline.process.search.service import forget
from touchline.process.settings import ProcessSettings

from . import rules
from .metrics import PURGED
from .model import Purge
from .store import TABLES, PurgeStore

ACTOR, WHY = "purge", "the video is purged"
ROWS_AT_ONCE, LOGS_AT_ONCE, JOBS_AT_ONCE = 5000, 16, 1000
MOST_PER_PASS = 100
PATIENCE = timedelta(minutes=10)  # with one video; then somebody else may try

logger = logging.getLogger(__name__)


async def ask(transaction: Transaction, video_id: UUID) -> None:
    """From here on it is nowhere found, and nobody works at it. Known or not: whoever asks is told the end."""
    store, jobs = PurgeStore(transaction.connection), JobStore(transaction.connection)
    await forget(transaction, video_id)
    for job_id in await store.active_jobs(video_id):
        for ended in await jobs.cancel(job_id, ACTOR, WHY):
            announce_change(transaction, ended)
    await store.ask(video_id)


@dataclass(frozen=True, slots=True)
class Purger:
    database: Database
    objects: ObjectStore
    settings: ProcessSettings

    async def run_pass(self) -> bool:
        """True when more are waiting. One that cannot be purged does not hold up the others."""
        for _ in range(MOST_PER_PASS):
            purge = await self._claimed()
            if purge is None:
                return False
            try:
                await self._advance(purge)
            except Exception:
                logger.exception("a purge is tried again later", extra={"video_id": str(purge.video_id)})
        return True

    async def forget_history(self) -> bool:
        """A batch of the history of jobs that ended long ago; true when there is more."""
        async with self.database.system("forget the history of finished jobs") as transaction:
            store = PurgeStore(transaction.connection)
            return await store.forget_history(self.settings.history_kept, JOBS_AT_ONCE) == JOBS_AT_ONCE

    async def _claimed(self) -> Purge | None:
        async with self.database.system("find videos to purge") as transaction:
            return await PurgeStore(transaction.connection).claim(PATIENCE)

    async def _advance(self, purge: Purge) -> None:
        if purge.rows_gone_at is None:
            purge = await self._delete_rows(purge)
        found = await self._delete_objects(purge)
        if purge.rows_gone_at is None or found:
            await self._look_again(purge, found)
        else:
            await self._finish(purge)

    async def _delete_rows(self, purge: Purge) -> Purge:
        async with self.database.transaction(purge.tenant_id) as transaction:
            await ask(transaction, purge.video_id)  # once more: since it was asked a job may have come
        async with self.database.system("purge a video") as transaction:
            purge = await PurgeStore(transaction.connection).note_jobs(purge)
        for table in TABLES:
            deleted = ROWS_AT_ONCE
            while deleted == ROWS_AT_ONCE:
                async with self.database.system("purge a video") as transaction:
                    deleted = await PurgeStore(transaction.connection).delete_some(purge, table, ROWS_AT_ONCE)
        async with self.database.system("purge a video") as transaction:
            await PurgeStore(transaction.connection).delete_rest(purge)
        return purge

    async def _delete_objects(self, purge: Purge) -> int:
        """How many there were. When this returns, the store has listed each prefix as empty."""
        found = 0
        for prefix in rules.prefixes(purge.video_id):
            more = True
            while more:
                deleted = await self.objects.delete_prefix(prefix)
                found, more = found + deleted.count, deleted.more
        for start in range(0, len(purge.job_ids), LOGS_AT_ONCE):
            logs = [log_key(job_id) for job_id in purge.job_ids[start : start + LOGS_AT_ONCE]]
            await asyncio.gather(*(self.objects.delete(key) for key in logs))
        return found

    async def _look_again(self, purge: Purge, found: int) -> None:
        async with self.database.system("purge a video") as transaction:
            await PurgeStore(transaction.connection).put_off(purge, found, self.settings.purge_second_look)

    async def _finish(self, purge: Purge) -> None:
        async with self.database.system("purge a video") as transaction:
            objects = await PurgeStore(transaction.connection).finish(purge)
            if objects is not None:
                gone = VideoPurged(artifact_hash=artifact_hash(purge.video_id), objects=objects)
                transaction.announce(gone, tenant_id=purge.tenant_id)
                PURGED.inc()
