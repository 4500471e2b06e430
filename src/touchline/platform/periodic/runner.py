"""Runs periodic tasks: any process may claim one; a pass whose process died is due again when its lease ends.

Invariant: passes are idempotent and bounded, so one that ran twice or late does no harm. What a task may do in one
interval is counted in its row: neither a second machine, a pass that failed, nor a clock that jumps adds to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from prometheus_client import Counter, Gauge

from touchline.platform.postgres.database import Database
from touchline.platform.retry import retry_forever
from touchline.platform.settings import PeriodicSettings

from .store import PeriodicClaim, PeriodicStore

PASSES = Counter("touchline_periodic_passes", "Passes of periodic tasks by this process.", ["task", "outcome"])
LIMITED = Gauge(
    "touchline_periodic_limited", "1 while a task has more to do than its limit allows in an interval.", ["task"]
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    name: str
    every: timedelta
    run_pass: Callable[[], Awaitable[bool]]  # returns whether more work is waiting
    catches_up: bool = False  # then it is due again at once: only for what does no harm, however much it is


@dataclass(frozen=True, slots=True)
class Quota:
    """How much a task may do in its interval: on all machines, by all passes, and by hand."""

    database: Database
    task: str
    every: timedelta
    most: int

    async def take(self, wanted: int) -> int:
        """How much of it may be done. It is used up, even by a pass that then fails."""
        if wanted <= 0:
            return 0
        async with self.database.system("take from the quota of a periodic task") as transaction:
            store = PeriodicStore(transaction.connection)
            await store.register(self.task, self.every)
            return await store.take(self.task, wanted, self.most)

    async def left(self) -> int:
        """How much of it could be taken now."""
        async with self.database.system("look at the quota of a periodic task") as transaction:
            return await PeriodicStore(transaction.connection).left(self.task, self.most)


class PeriodicRunner:
    def __init__(
        self, database: Database, tasks: Sequence[PeriodicTask], settings: PeriodicSettings, process: str
    ) -> None:
        self._database = database
        self._tasks = {task.name: task for task in tasks}
        self._settings = settings
        self._process = process

    async def run(self) -> None:
        """Until cancelled."""
        await retry_forever(self._turn, self._settings.retry_delay, logger)

    async def register(self) -> None:
        async with self._database.system("register periodic tasks") as transaction:
            for task in self._tasks.values():
                await PeriodicStore(transaction.connection).register(task.name, task.every)

    async def step(self) -> bool:
        """Runs one task that is due; false when none is."""
        async with self._database.system("claim a periodic task") as transaction:
            store = PeriodicStore(transaction.connection)
            claim = await store.claim(list(self._tasks), self._process, self._settings.lease)
        if claim is None:
            return False
        await self._run_pass(claim)
        return True

    async def _turn(self) -> None:
        await self.register()
        while await self.step():
            pass
        await asyncio.sleep(self._settings.poll_interval.total_seconds())

    async def _run_pass(self, claim: PeriodicClaim) -> None:
        """The pass runs outside any transaction: a long one must not hold back the vacuum."""
        task = self._tasks[claim.name]
        try:
            async with asyncio.timeout(self._settings.lease.total_seconds()):
                more = await task.run_pass()
        except Exception as error:
            PASSES.labels(claim.name, "failed").inc()
            logger.exception("periodic task failed", extra={"task": claim.name})
            async with self._database.system("record a failed periodic pass") as transaction:
                reason = f"{type(error).__name__}: {error}"[:1000]
                await PeriodicStore(transaction.connection).fail(claim, reason, self._settings.retry_delay)
            return
        PASSES.labels(claim.name, "done").inc()
        if limited := more and not task.catches_up:
            logger.warning("a task has reached its limit, and goes on in its next interval", extra={"task": claim.name})
        LIMITED.labels(claim.name).set(limited)
        async with self._database.system("finish a periodic pass") as transaction:
            await PeriodicStore(transaction.connection).finish(claim, more=more, catches_up=task.catches_up)
