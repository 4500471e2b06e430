"""Gives committed events their positions. Runs in every control process; they take turns by a lock."""

from __future__ import annotations

import logging

from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups
from touchline.platform.retry import retried_forever

from .metrics import SEQUENCED
from .settings import EventSettings
from .store import LogStore

INBOX_CHANNEL = "touchline_inbox"

logger = logging.getLogger(__name__)


class Sequencer:
    def __init__(self, database: Database, wakeups: Wakeups, settings: EventSettings) -> None:
        self._database = database
        self._wakeup = wakeups.subscribe(INBOX_CHANNEL)
        self._settings = settings

    async def run(self) -> None:
        """Until cancelled. A database that is away is waited for."""
        await retried_forever(self._turn, self._settings.retry_delay, logger)

    async def _turn(self) -> None:
        while await self.step() >= self._settings.sequence_batch:
            pass
        await self._wakeup.wait(self._settings.poll_interval)

    async def step(self) -> int:
        async with self._database.system("give events their positions") as transaction:
            moved = await LogStore(transaction.connection).sequence(self._settings.sequence_batch)
        SEQUENCED.inc(max(moved, 0))
        return moved
