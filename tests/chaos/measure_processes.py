"""The processes that the chaos of measuring kills: `python -m tests.chaos.measure_processes importer FILE|folder`.

They are the product's own parts; the addresses come by the environment.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from tests.support.sessions import RULES
from touchline.kernel import TenantId
from touchline.measure.analytics.rollups.service import RollupService
from touchline.measure.facts.service import FoldService, FoldWorker
from touchline.measure.ingest import file_import
from touchline.measure.ingest.service import IngestService
from touchline.measure.ingest.store import CHANNEL
from touchline.measure.settings import AnalyticsSettings, IngestSettings
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.postgres.database import Database, Wakeups
from touchline.platform.retry import retry_forever
from touchline.platform.settings import ClickHouseSettings

POSTGRES, CLICKHOUSE = "TOUCHLINE_CHAOS_DATABASE", "TOUCHLINE_CHAOS_CLICKHOUSE"
TENANT = TenantId(UUID(int=7))
SETTINGS = IngestSettings(fold_interval=timedelta(milliseconds=200), fold_gather=timedelta(0), fold_records=200)
logger = logging.getLogger(__name__)


async def main(kind: str, *files: str) -> None:
    file_import.RECORDS = 50  # many deliveries of few events
    wakeups = Wakeups(os.environ[POSTGRES], [CHANNEL])
    endpoint = ClickHouseEndpoint(**json.loads(os.environ[CLICKHOUSE]))
    async with (
        Database(os.environ[POSTGRES]) as database,
        Analytics(endpoint, ClickHouseSettings()) as analytics,
        wakeups.listening(),
    ):
        ingest = IngestService(database, analytics, SETTINGS)
        if kind == "importer":
            for file in files:
                await file_import.import_file(ingest, TENANT, Path(file), lambda _: None)
        else:
            folds = FoldService(database, analytics, RULES, SETTINGS)
            await asyncio.gather(FoldWorker(folds, ingest, wakeups).run(), sum_days(analytics))


async def sum_days(analytics: Analytics) -> None:
    """Again and again, also in the middle of what is being written."""
    rollups = RollupService(analytics, AnalyticsSettings(sum_after=timedelta()))

    async def turn() -> None:
        await rollups.run_pass()
        await asyncio.sleep(SETTINGS.fold_interval.total_seconds())

    await retry_forever(turn, SETTINGS.fold_interval, logger)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
