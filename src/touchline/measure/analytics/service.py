"""Answers about one tenant's sessions. Another tenant's are as unknown as those that never were.

Invariant: a question is a few statements, whatever it covers; one that would be too large is refused and says why.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace

from touchline.kernel import Clock, InvalidInput, LimitExceeded, SystemClock, TenantId
from touchline.measure.analytics.rollups.rules import HOUR_S, by_weeks, grouping, part, weeks, whole_days
from touchline.measure.analytics.rollups.store import RollupStore
from touchline.measure.settings import AnalyticsSettings, SessionSettings
from touchline.platform.clickhouse.client import Analytics, ArrowTable

from . import rules
from .export_store import ExportKind, ExportStore
from .filters import Condition, condition
from .quality_store import IngestQualityStore
from .queries import AnalyticsSource
from .store import AnalyticsStore, TimelineStore

MOST_TIMELINES = 20
NOTHING = rules.OutcomeTally(0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class SessionQuestion:
    covered: rules.TimeRange
    where: Condition


class SessionAnalytics:
    def __init__(
        self,
        analytics: Analytics,
        settings: AnalyticsSettings | None = None,
        sessions: SessionSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._store = AnalyticsStore(analytics)
        self._rollups = RollupStore(analytics)
        self._details = TimelineStore(analytics, sessions or SessionSettings())
        self._intake = IngestQualityStore(analytics)
        self._exports = ExportStore(analytics)
        self._settings = settings or AnalyticsSettings()
        self._clock = clock or SystemClock()

    async def summary(
        self, tenant_id: TenantId, wanted: rules.Filter, metrics: Sequence[rules.Metric] = rules.EVERY_METRIC
    ) -> rules.SessionSummary:
        return await self._store.summary(tenant_id, await self._source(tenant_id, wanted), metrics)

    async def series(
        self, tenant_id: TenantId, wanted: rules.Filter, bucket_seconds: int | None = None
    ) -> rules.Series:
        question = self._question(wanted)
        seconds = rules.bucket_seconds(question.covered, bucket_seconds)
        source = AnalyticsSource(question.where)
        if seconds % HOUR_S == 0:
            source = await self._source(tenant_id, wanted, rules.Dimension.HOUR, daily=True)
        found = {bucket.start_ms: bucket for bucket in await self._store.series(tenant_id, source, seconds)}
        starts = rules.bucket_starts(question.covered, seconds)
        return rules.Series(seconds, [found.get(start) or rules.Bucket(start, NOTHING, None, None) for start in starts])

    async def distribution(self, tenant_id: TenantId, wanted: rules.Filter, metric: rules.Metric) -> rules.Distribution:
        return await self._store.distribution(tenant_id, await self._source(tenant_id, wanted), metric)

    async def breakdown(
        self,
        tenant_id: TenantId,
        wanted: rules.Filter,
        by: rules.Dimension,
        first: int,
        metrics: Sequence[rules.Metric] = rules.EVERY_METRIC,
    ) -> list[rules.SessionGroup]:
        first, source = rules.check_first(first), await self._source(tenant_id, wanted, by)
        return await self._store.breakdown(tenant_id, source, by, first, metrics)

    async def leaders(self, tenant_id: TenantId, wanted: rules.Filter, board: rules.Board) -> list[rules.SessionGroup]:
        rules.check_first(board.first)
        board = replace(board, at_least=min(max(board.at_least, 1), rules.MOST_AT_LEAST))
        return await self._store.leaders(tenant_id, await self._source(tenant_id, wanted, board.by), board)

    async def page(
        self, tenant_id: TenantId, wanted: rules.Filter, order: rules.Order, window: rules.SessionWindow
    ) -> rules.SessionPage:
        return await self._store.page(tenant_id, await self._source(tenant_id, wanted, daily=True), order, window)

    async def session(self, tenant_id: TenantId, session_id: str) -> rules.ListedSession | None:
        return await self._store.session(tenant_id, session_id)

    async def span(self, tenant_id: TenantId) -> rules.TimeRange | None:
        """When the first and the last session start."""
        return await self._store.span(tenant_id)

    async def timelines(self, tenant_id: TenantId, session_ids: Sequence[str]) -> Mapping[str, rules.SessionTimeline]:
        if len(session_ids) > MOST_TIMELINES:
            raise LimitExceeded("too many timelines at once", why=f"the limit is {MOST_TIMELINES}")
        return await self._details.timelines(tenant_id, session_ids)

    async def changes(
        self, tenant_id: TenantId, session_ids: Sequence[str], window_seconds: int
    ) -> Mapping[str, Mapping[int, rules.Change]]:
        """FPS and jitter around each update of parameters, by session and by the update's index."""
        if not 1 <= window_seconds <= rules.LONGEST_WINDOW_S:
            why = f"it must be between 1 and {rules.LONGEST_WINDOW_S} seconds"
            raise InvalidInput("not a valid window", field="window_seconds", why=why)
        return await self._details.changes(tenant_id, session_ids, window_seconds)

    async def export(self, tenant_id: TenantId, wanted: rules.Filter, kind: ExportKind) -> AsyncIterator[ArrowTable]:
        """Refuses before anything is sent: what has begun comes to its end."""
        where, most = self._question(wanted).where, self._settings.largest_export
        if await self._exports.count(tenant_id, where, most + 1) > most:
            hint = "Ask for a shorter time, or for fewer sessions; `answers.largest_export` sets the limit."
            raise LimitExceeded("too many sessions for one export", why=f"the limit is {most:,}", hint=hint)
        return self._exports.portions(tenant_id, where, kind)

    async def quality(self, tenant_id: TenantId, wanted: rules.Filter) -> rules.Quality:
        covered = rules.whole_minutes(rules.range_of(wanted, self._clock.now(), self._settings))
        return await self._intake.quality(tenant_id, covered, rules.bucket_seconds(covered, None))

    async def quarantined(self, tenant_id: TenantId, window: rules.QuarantineWindow) -> rules.QuarantinePage:
        return await self._intake.quarantined(tenant_id, window)

    async def _source(
        self, tenant_id: TenantId, wanted: rules.Filter, by: rules.Dimension | None = None, *, daily: bool = False
    ) -> AnalyticsSource:
        """With those sums that know what is asked for and hold all that was written: of weeks, unless days matter."""
        question, summed_by = self._question(wanted), grouping(wanted, by)
        whole = whole_days(question.covered) if summed_by else None
        known = await self._rollups.fresh(tenant_id, *whole) if whole else None
        if not summed_by or not known:
            return AnalyticsSource(question.where)
        found = part(summed_by, question.covered, known)
        if not daily:
            there = await self._rollups.weeks(tenant_id, [week.name for week in weeks(known)])
            found = replace(found, days=by_weeks(known, there))
        return AnalyticsSource(question.where, found)

    def _question(self, wanted: rules.Filter) -> SessionQuestion:
        rules.check_texts(wanted)
        covered = rules.range_of(wanted, self._clock.now(), self._settings)
        return SessionQuestion(covered, condition(wanted, covered))
