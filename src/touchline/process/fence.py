"""Writes of a job that goes on afterwards: what is true already is stored before the whole is done.

Invariant: refused with LeaseLost once another attempt was made or the lease is over. While the database is away it is
tried again; whoever loses the lease meanwhile is cancelled.
"""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

from touchline.kernel.errors import LeaseLost
from touchline.platform.postgres.database import Database
from touchline.platform.retry import delay_seconds, passes_by_itself
from touchline.process.queue.model import Job
from touchline.process.queue.service import Effects
from touchline.process.queue.store import JobStore

FIRST_DELAY = timedelta(milliseconds=200)

logger = logging.getLogger(__name__)


async def write_held(database: Database, held: Job, percent: int, effects: Effects) -> None:
    """The effects in one transaction with the fence; they may run again if the answer to the commit was lost."""
    failures = 0
    while True:
        try:
            return await _write(database, held, percent, effects)
        except Exception as error:
            if not passes_by_itself(error):
                raise
            logger.warning("trying again", extra={"job_id": str(held.id), "reason": str(error)})
        await asyncio.sleep(delay_seconds(FIRST_DELAY, failures))
        failures += 1


async def _write(database: Database, held: Job, percent: int, effects: Effects) -> None:
    async with database.transaction(held.tenant_id) as transaction:
        if await JobStore(transaction.connection).progress(held, percent) is None:
            raise LeaseLost(f"attempt {held.attempt} no longer holds job {held.id}", why="another may have it now")
        await effects(transaction)
