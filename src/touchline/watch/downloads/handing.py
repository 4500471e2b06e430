"""The end of a download run: its videos handed over to be archived, its attempt counted, its left-overs removed."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from temporalio.client import Client

from touchline.contracts.events.watch import GoalChanged
from touchline.watch.archive.service import tell
from touchline.watch.context import WatchContext
from touchline.watch.model import GoalRef

from . import incoming
from .rules import LONGEST_WHY, Ending
from .store import DownloadStore
from .workflow import CleanUp, QueuedBatch, Registered

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Handover:
    ground: WatchContext
    temporal: Client

    async def queue(self, batch: QueuedBatch) -> bool:
        """The row first, so that the archive knows what it is told of. Whether the goal still lives."""
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(batch.goal)
            if goal is None:
                return False
            waits = await store.add_batch(goal, batch.batch_id, batch.videos, self.ground.clock.now())
        if waits:
            await tell(self.temporal, goal, batch.batch_id)
        _LOG.info("[DOWNLOAD] Queued for upload", extra={"event": goal.name, "count": len(batch.videos)})
        return True

    async def register(self, goal: GoalRef, run_id: str, attempts: int) -> Registered:
        now = self.ground.clock.now()
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            living = await store.living(goal)
            if living is None:
                return Registered(complete=False, over=True)
            complete = await store.register(living, run_id, attempts, now)
            revision, attempt, outcome = await store.standing(living)
            changed = GoalChanged(
                event_id=living.event_id,
                generation=living.generation,
                fixture_id=living.fixture_id,
                what="complete" if complete else "searched",
                attempt=attempt,
                outcome=outcome,
            )
            transaction.announce(changed, revision=revision)
        _LOG.info("[DOWNLOAD] Attempt ended", extra={"event": living.name, "run": run_id, "complete": complete})
        return Registered(complete)

    async def clean_up(self, order: CleanUp) -> int:
        """Answers how many files went."""
        async with self.ground.database.transaction(self.ground.owner.tenant_id) as transaction:
            store = DownloadStore(transaction.connection)
            goal = await store.living(order.goal)
            if goal is not None:
                await self._fail(store, goal, order)
        if goal is None:
            await incoming.remove_all(self.ground, order.goal)
            return 0
        return await incoming.clean_up(self.ground, goal)

    async def _fail(self, store: DownloadStore, goal: GoalRef, order: CleanUp) -> None:
        for why, videos in order.failed.items():
            await store.given_up(goal, videos, Ending("failed", why[:LONGEST_WHY], self.ground.clock.now()))
