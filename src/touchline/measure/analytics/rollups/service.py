"""Sums days once nobody writes there any more, for whoever asks about a long time.

Invariant: an answer never waits for a sum and never trusts one that is older than the day's rows. Passes may run twice
or at once: each makes sums of its own, and either of two that were made after the same notes may count.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from prometheus_client import Counter

from touchline.kernel import LimitExceeded
from touchline.measure.settings import AnalyticsSettings
from touchline.platform.clickhouse.client import Analytics

from .rules import EVERY_DAY, DueDay, weeks
from .store import RollupStore

SUMMED_DAYS = Counter("touchline_measure_days_summed", "Days of session facts that were rolled up, repeats included.")

MOST_DAYS, MOST_WEEKS = 20, 10  # of one pass
LONGEST_WRITE = timedelta(minutes=10)  # far longer than any statement may run
KEPT = timedelta(hours=1)
logger = logging.getLogger(__name__)


class RollupService:
    def __init__(self, analytics: Analytics, settings: AnalyticsSettings | None = None) -> None:
        self._store = RollupStore(analytics)
        self._settings = settings or AnalyticsSettings()
        self._too_large = set[DueDay]()

    async def run_pass(self) -> bool:
        """Some days; whether more are waiting. One that is too large for its sum is read row by row, as before, and
        left alone until it is written again."""
        due = await self._store.due(self._settings.sum_after, LONGEST_WRITE, MOST_DAYS + len(self._too_large))
        self._too_large.intersection_update(due)
        waiting = [day for day in due if day not in self._too_large][:MOST_DAYS]
        for day in waiting:
            try:
                await self._store.sum(day)
                SUMMED_DAYS.inc()
            except LimitExceeded:
                logger.exception("a day is too large to be summed", extra={"day": day.start_day.isoformat()})
                self._too_large.add(day)
        return len(waiting) == MOST_DAYS or await self._sum_weeks()

    async def _sum_weeks(self) -> bool:
        """When there are no more days: a week counts only as long as all of its days do."""
        left = MOST_WEEKS
        for tenant_id in await self._store.tenants():
            whole = weeks(await self._store.fresh(tenant_id, *EVERY_DAY))
            there = await self._store.weeks(tenant_id, [week.name for week in whole])
            for week in [week for week in whole if week.name not in there][:left]:
                await self._store.sum_week(tenant_id, week)
                left -= 1
        return not left

    async def tidy(self) -> bool:
        await self._store.forget(KEPT)
        return False
