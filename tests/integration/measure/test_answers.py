"""Answers about sessions beside what counting the same facts by hand says, with old versions and moved rows about."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import ceil, inf
from typing import Any, cast

import pytest

from tests.support.events import new_tenant
from tests.support.session_facts import HOUR_MS, NOW, NOW_MS, made_up_facts, open_facts, written
from touchline.kernel import InvalidInput, ManualClock, TenantId
from touchline.measure.analytics import queries
from touchline.measure.analytics.rollups.rules import told
from touchline.measure.analytics.rules import (
    Board,
    Dimension,
    Filter,
    Leaders,
    Metric,
    Order,
    OutcomeTally,
    Percentiles,
    Progress,
    SessionGroup,
    SessionWindow,
    progress_of,
)
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.sessions.model import SessionFacts, SessionRow
from touchline.platform.clickhouse.client import Analytics

WEEK_MS = 7 * 24 * HOUR_MS
FILTERS = [
    Filter(),
    Filter(since=NOW - timedelta(days=3)),
    Filter(since=NOW - timedelta(days=30), until=NOW - timedelta(days=2)),
    Filter(since=NOW - timedelta(days=390)),
    Filter(gateway="gate-1"),
    Filter(gateway=""),
    Filter(orchestrator="0xAA", model="flux"),
    Filter(gpu="g1", workflow_type="transcode"),
    *(Filter(outcome=outcome) for outcome in Progress),
    Filter(swapped=True),
    Filter(swapped=False, failed=False),
    Filter(failed=True),
    Filter(metric=Metric.E2E),
    Filter(metric=Metric.STARTUP, at_least_ms=1_000.0, below_ms=2_500.0),
    Filter(metric=Metric.PROMPT_TO_PLAYABLE, below_ms=4_000.5),
    Filter(search="REQUEST'7"),
    Filter(search="é|"),
    Filter(search="pipeline-a"),
    Filter(search="'; DROP TABLE session_rows"),
]
COLUMNS: dict[Dimension, Callable[[SessionRow], str | None]] = {
    Dimension.GATEWAY: lambda row: row.gateway,
    Dimension.ORCHESTRATOR: lambda row: row.orchestrator_address,
    Dimension.MODEL: lambda row: row.model_id,
    Dimension.GPU: lambda row: row.gpu_id,
    Dimension.WORKFLOW_TYPE: lambda row: row.workflow_type,
    Dimension.HOUR: lambda row: f"{row.session_start_ts // HOUR_MS % 24:02}",
}


@dataclass(frozen=True, slots=True)
class Asked:
    answers: SessionAnalytics
    tenant: TenantId
    facts: Sequence[SessionFacts]

    def rows(self, wanted: Filter) -> list[SessionRow]:
        return [one.session for one in self.facts if holds(wanted, one.session)]


@pytest.fixture(scope="module")
async def asked(analytics: Analytics) -> Asked:
    tenant, facts = new_tenant(), [*made_up_facts(200, seed=1), *open_facts(60, seed=3)]
    await written(analytics, tenant, facts)
    await written(analytics, new_tenant(), made_up_facts(50, seed=2))  # a neighbour, with the same ids
    return Asked(SessionAnalytics(analytics, clock=ManualClock(NOW)), tenant, facts)


def holds(wanted: Filter, row: SessionRow) -> bool:
    since = int(wanted.since.timestamp() * 1_000) if wanted.since else NOW_MS - WEEK_MS
    until = int(wanted.until.timestamp() * 1_000) if wanted.until else NOW_MS
    texts = {
        wanted.gateway: row.gateway,
        wanted.model: row.model_id,
        wanted.gpu: row.gpu_id,
        wanted.workflow_type: row.workflow_type,
        wanted.orchestrator and wanted.orchestrator.lower(): row.orchestrator_address,
    }
    searched = (row.workflow_session_id, row.orchestrator_address, row.orchestrator_url, row.gateway, row.workflow_id)
    return (
        since <= row.session_start_ts < until
        and all(text == (value or "") for text, value in texts.items() if text is not None)
        and wanted.outcome in (None, progress_of(row))
        and wanted.swapped in (None, row.swap_count > 0)
        and wanted.failed in (None, progress_of(row) is Progress.UNEXCUSED)
        and in_bounds(wanted, row)
        and (not wanted.search or any(wanted.search.lower() in (text or "").lower() for text in searched))
    )


def in_bounds(wanted: Filter, row: SessionRow) -> bool:
    value: int | None = getattr(row, wanted.metric) if wanted.metric else 0
    if not wanted.metric or value is None:
        return not wanted.metric
    return (wanted.at_least_ms or 0) <= value < (wanted.below_ms or inf)


def tally(rows: Sequence[SessionRow]) -> OutcomeTally:
    stand = Counter(progress_of(row) for row in rows)
    return OutcomeTally(
        sessions=len(rows),
        known=stand[Progress.SUCCESS] + stand[Progress.EXCUSED] + stand[Progress.UNEXCUSED],
        success=stand[Progress.SUCCESS],
        excused=stand[Progress.EXCUSED],
        unexcused=stand[Progress.UNEXCUSED],
        running=stand[Progress.RUNNING],
        cancelled=stand[Progress.CANCELLED],
        swapped=sum(row.swap_count > 0 for row in rows),
        errors=sum(row.error_count for row in rows),
    )


def percentiles(rows: Sequence[SessionRow], metric: Metric) -> Percentiles:
    values = sorted(value for row in rows if (value := getattr(row, metric)) is not None)
    at = (ceil(share * len(values)) - 1 for share in (0.5, 0.9, 0.95, 0.99))
    levels = (told(values[place], len(values)) if values else None for place in at)
    return Percentiles(len(values), *levels)


@pytest.mark.parametrize("wanted", FILTERS, ids=str)
async def test_a_summary_counts_each_session_once(asked: Asked, wanted: Filter) -> None:
    rows = asked.rows(wanted)
    summary = await asked.answers.summary(asked.tenant, wanted)
    assert summary.tally == tally(rows)
    assert summary.metrics == {metric: percentiles(rows, metric) for metric in Metric}


@pytest.mark.parametrize("seconds", [None, 3_600, 86_400])
async def test_a_series_has_every_bucket_and_adds_up(asked: Asked, seconds: int | None) -> None:
    series = await asked.answers.series(asked.tenant, Filter(), seconds)
    rows = asked.rows(Filter())
    starts = [bucket.start_ms for bucket in series.buckets]
    assert starts == [*range(starts[0], NOW_MS, series.seconds * 1_000)]
    assert starts[0] <= NOW_MS - WEEK_MS < starts[1]
    for bucket in series.buckets:
        end_ms = bucket.start_ms + series.seconds * 1_000
        inside = [row for row in rows if bucket.start_ms <= row.session_start_ts < end_ms]
        assert bucket.tally == tally(inside)
        known = percentiles(inside, Metric.STARTUP)
        assert (bucket.startup_p50, bucket.startup_p95) == (known.p50, known.p95)


@pytest.mark.parametrize("metric", Metric)
async def test_every_value_is_in_its_bar(asked: Asked, metric: Metric) -> None:
    found = await asked.answers.distribution(asked.tenant, Filter(), metric)
    rows = asked.rows(Filter())
    values = [value for row in rows if (value := getattr(row, metric)) is not None]
    assert found.percentiles == percentiles(rows, metric)
    assert sum(bar.count for bar in found.bars) == len(values)
    for bar, following in zip(found.bars, found.bars[1:], strict=False):
        assert bar.to_ms == following.from_ms
    for bar in found.bars[:-1]:
        assert bar.count == sum(bar.from_ms <= value < bar.to_ms for value in values)


@pytest.mark.parametrize("by", Dimension)
async def test_groups_are_those_of_the_facts(asked: Asked, by: Dimension) -> None:
    groups = defaultdict[str | None, list[SessionRow]](list)
    for row in asked.rows(Filter()):
        groups[COLUMNS[by](row)].append(row)
    found = await asked.answers.breakdown(asked.tenant, Filter(), by, 200)
    assert {group.key: group.tally for group in found} == {key: tally(rows) for key, rows in groups.items()}
    for group in found:
        assert group.metrics[Metric.STARTUP] == percentiles(groups[group.key], Metric.STARTUP)
    sizes = [group.tally.sessions for group in found]
    keys = [group.key or "" for group in found]
    assert keys == sorted(keys) if by is Dimension.HOUR else sizes == sorted(sizes)[::-1]
    assert len(await asked.answers.breakdown(asked.tenant, Filter(), by, 1)) == 1


async def test_leaders_lead(asked: Asked) -> None:
    async def leading(kind: Leaders) -> list[float]:
        found = await asked.answers.leaders(asked.tenant, Filter(), Board(kind, Dimension.GPU))
        value: dict[Leaders, Callable[[SessionGroup], float | None]] = {
            Leaders.SWAPS: lambda group: group.tally.swapped,
            Leaders.FAILURES: lambda group: group.tally.unexcused,
            Leaders.SLOWEST: lambda group: group.metrics[Metric.STARTUP].p95,
        }
        return [value[kind](group) or 0 for group in found]

    for kind in Leaders:
        values = await leading(kind)
        assert len(values) == 3
        assert values == sorted(values, reverse=True)
    board = Board(Leaders.SWAPS, Dimension.GPU, at_least=1_000)
    assert await asked.answers.leaders(asked.tenant, Filter(), board) == []


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("backwards", [False, True])
async def test_pages_show_every_session_once_and_in_order(asked: Asked, order: Order, backwards: bool) -> None:
    keys: dict[Order, Callable[[SessionRow], int]] = {
        Order.LATEST: lambda row: row.session_start_ts,
        Order.STARTUP_DESC: lambda row: -1 if row.startup_ms is None else row.startup_ms,
        Order.ERRORS_DESC: lambda row: row.error_count,
        Order.SWAPS_DESC: lambda row: row.swap_count,
    }
    seen: list[SessionRow] = []
    window = SessionWindow(37, from_the_end=backwards)
    while True:
        page = await asked.answers.page(asked.tenant, Filter(), order, window)
        assert page.total_count == len(asked.rows(Filter()))
        rows = [session.row for session in page.sessions]
        seen = [*rows, *seen] if backwards else [*seen, *rows]
        if not page.more:
            break
        edge = page.sessions[0 if backwards else -1].place
        window = SessionWindow(37, None if backwards else edge, edge if backwards else None, backwards)
    sort = [(keys[order](row), row.session_start_ts) for row in seen]
    assert sort == sorted(sort, reverse=True)
    assert sorted(seen, key=str) == sorted(asked.rows(Filter()), key=str)
    behind = SessionWindow(5, page.sessions[-1].place)
    assert backwards or (await asked.answers.page(asked.tenant, Filter(), order, behind)).total_count == len(seen)


async def test_what_is_not_asked_for_changes_nothing_else(asked: Asked) -> None:
    answers, tenant = asked.answers, asked.tenant
    whole, bare = await answers.summary(tenant, Filter()), await answers.summary(tenant, Filter(), ())
    assert (bare.tally, bare.metrics) == (whole.tally, {})
    groups = await answers.breakdown(tenant, Filter(), Dimension.GPU, 20)
    one = await answers.breakdown(tenant, Filter(), Dimension.GPU, 20, [Metric.E2E])
    assert [(group.key, group.tally) for group in one] == [(group.key, group.tally) for group in groups]
    assert [group.metrics for group in one] == [{Metric.E2E: group.metrics[Metric.E2E]} for group in groups]
    slowest = [group.key for group in await answers.leaders(tenant, Filter(), Board(Leaders.SLOWEST))]
    assert slowest == [
        group.key for group in await answers.leaders(tenant, Filter(), Board(Leaders.SLOWEST, metrics=()))
    ]
    full = await answers.page(tenant, Filter(), Order.STARTUP_DESC, SessionWindow(20))
    short = await answers.page(tenant, Filter(), Order.STARTUP_DESC, SessionWindow(20, with_parts=False))
    assert [session.row for session in short.sessions] == [session.row for session in full.sessions]
    assert any(session.segments for session in full.sessions)
    assert not any(session.segments or session.parameters for session in short.sessions)


async def test_a_session_comes_whole(asked: Asked) -> None:
    for facts in asked.facts[:12]:
        found = await asked.answers.session(asked.tenant, facts.session.workflow_session_id)
        assert found is not None
        assert (found.row, found.segments, found.parameters) == (
            facts.session,
            [*facts.segments],
            [*facts.parameters],
        )


async def test_another_tenant_knows_nothing_of_it(asked: Asked) -> None:
    stranger, answers = new_tenant(), asked.answers
    name = asked.facts[0].session.workflow_session_id
    assert await answers.session(stranger, name) is None
    assert (await answers.summary(stranger, Filter())).tally.sessions == 0
    assert (await answers.page(stranger, Filter(), Order.LATEST, SessionWindow(5))).sessions == []
    assert (await answers.distribution(stranger, Filter(), Metric.STARTUP)).bars == []
    assert await answers.breakdown(stranger, Filter(), Dimension.GPU, 5) == []
    assert await answers.span(stranger) is None
    assert await answers.changes(stranger, [name], 30) == {}
    assert (await answers.timelines(stranger, [name]))[name].samples == []


async def test_the_span_of_all_sessions(asked: Asked) -> None:
    span = await asked.answers.span(asked.tenant)
    starts = [one.session.session_start_ts for one in asked.facts]
    assert span is not None
    assert (span.since_ms, span.until_ms) == (min(starts), max(starts))


MANY_DAYS = """
INSERT INTO session_rows (tenant_id, start_day, workflow_session_id, session_start_ts, pass)
SELECT {tenant_id:UUID}, toDate(20000 + number % 50), toString(number), (20000 + number % 50) * 86400000 + number, 1
FROM numbers(200000)
"""
LIFTED = """
INSERT INTO session_rows (tenant_id, start_day, workflow_session_id, session_start_ts, pass, is_deleted)
SELECT tenant_id, start_day, workflow_session_id, session_start_ts, 2, 1 FROM session_rows
WHERE tenant_id = {tenant_id:UUID} AND start_day NOT BETWEEN toDate({first:UInt16}) AND toDate({last:UInt16})
"""


@pytest.mark.parametrize(("first", "last"), [(20_000, 20_049), (20_001, 20_047), (20_024, 20_025), (20_024, 20_023)])
async def test_the_span_passes_days_of_which_nothing_is_left(analytics: Analytics, first: int, last: int) -> None:
    """Few of them, so many that all are looked at, and all."""
    tenant = new_tenant()
    own = analytics.within(tenant)
    await own.command(MANY_DAYS.replace("200000", "1000"))
    await own.command(LIFTED, {"first": first, "last": last})
    span = await SessionAnalytics(analytics).span(tenant)
    if first > last:
        assert span is None
        return
    assert span is not None
    day_ms = 24 * HOUR_MS
    assert (span.since_ms, span.until_ms) == (first * day_ms + first - 20_000, last * day_ms + 950 + last - 20_000)


async def test_the_span_is_read_from_two_days(analytics: Analytics) -> None:
    tenant, read = new_tenant(), 0
    await analytics.within(tenant).command(MANY_DAYS)
    for sql, day in ((queries.FIRST, 0), (queries.LAST, queries.LATEST_DAY)):
        result = await analytics._call(  # pyright: ignore[reportPrivateUsage]
            lambda driver, sql=sql, day=day: cast("Any", driver).query(sql, {"tenant_id": tenant, "day": day})
        )
        read += int(result.summary["read_rows"])
    assert read < 40_000, "of 200,000 rows; a day has 4,000"


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (Filter(since=NOW, until=NOW), "filter.from"),
        (Filter(since=NOW + timedelta(days=1)), "filter.from"),
        (Filter(since=NOW - timedelta(days=401)), "filter.from"),
        (Filter(search="x" * 501), "filter.search"),
    ],
)
async def test_what_cannot_be_asked_is_refused(asked: Asked, wanted: Filter, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await asked.answers.summary(asked.tenant, wanted)
    assert refused.value.field == field


async def test_too_much_at_once_is_refused(asked: Asked) -> None:
    answers, tenant = asked.answers, asked.tenant
    for question in (
        answers.series(tenant, Filter(), 60),
        answers.series(tenant, Filter(), 0),
        answers.breakdown(tenant, Filter(), Dimension.GPU, 201),
        answers.leaders(tenant, Filter(), Board(Leaders.SWAPS, first=0)),
        answers.changes(tenant, ["x"], 0),
    ):
        with pytest.raises(InvalidInput):
            await question
