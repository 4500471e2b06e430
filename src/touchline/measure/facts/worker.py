"""Folds what was delivered: soon when something says so, else after a while."""

from __future__ import annotations

import asyncio
import logging

from touchline.kernel import TenantId
from touchline.measure.ingest.service import IngestService
from touchline.measure.ingest.store import CHANNEL
from touchline.platform.postgres.database import Wakeups
from touchline.platform.retry import is_transient, retry_forever

from .service import PASSES_FAILED, FoldService

logger = logging.getLogger(__name__)


class FoldWorker:
    def __init__(self, folds: FoldService, ingest: IngestService, wakeups: Wakeups) -> None:
        self._folds = folds
        self._ingest = ingest
        self._wakeup = wakeups.subscribe(CHANNEL)

    async def run(self) -> None:
        """Until cancelled. Parts that are away are waited for."""
        await retry_forever(self._turn, self._ingest.settings.fold_interval, logger)

    async def _turn(self) -> None:
        await self.step()
        if await self._wakeup.wait(self._ingest.settings.fold_interval):
            await asyncio.sleep(self._ingest.settings.fold_gather.total_seconds())

    async def step(self) -> None:
        """Everything that waits now, of every tenant."""
        await self._ingest.settle()
        for tenant_id in await self._folds.waiting():
            await self._fold(tenant_id)

    async def _fold(self, tenant_id: TenantId) -> None:
        """What is wrong with one tenant's events holds up no other; it is tried again at the next turn. What has come
        since a pass began has its own wake-up."""
        try:
            while (done := await self._folds.run_pass(tenant_id)) and done.more:
                pass
        except Exception as error:
            PASSES_FAILED.inc()
            if is_transient(error):
                raise
            logger.exception("a fold pass failed", extra={"tenant_id": str(tenant_id)})
