"""Answers with summed days beside answers without: two tenants have the same facts, and one of them has no sums.

`TOUCHLINE_CHAOS=full` asks every question of every range, in four rounds; else half of them in one, by the seed.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import date, timedelta
from random import Random

import pytest

from tests.support.events import new_tenant
from tests.support.session_facts import HOUR_MS, NOW, made_up_facts, places
from touchline.kernel import LimitExceeded, ManualClock, TenantId
from touchline.measure.analytics.rollups import service
from touchline.measure.analytics.rollups.rules import EVERY_DAY, weeks
from touchline.measure.analytics.rollups.service import RollupService
from touchline.measure.analytics.rollups.store import SUM, RollupStore
from touchline.measure.analytics.rules import Board, Dimension, Filter, Leaders, Metric, Order, Progress, SessionWindow
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.facts.rules import start_day
from touchline.measure.facts.store import DayStore, FactStore
from touchline.measure.sessions.model import SessionFacts
from touchline.measure.settings import AnalyticsSettings
from touchline.measure.tables import ensure_tables
from touchline.measure.validation.service import ROLLUPS, FactValidation, Finding
from touchline.platform.clickhouse.client import Analytics, ArrowTable, Parameters
from touchline.platform.endpoints import Endpoints
from touchline.platform.postgres.database import Database

from .conftest import empty_analytics

AT_ONCE, ALL = timedelta(), 100_000
NONE: Parameters = {}
ROUNDS, ASKED = (4, 6) if os.environ.get("TOUCHLINE_CHAOS") == "full" else (1, 3)
FILTERS = [
    Filter(),
    Filter(gateway="gate-1"),
    Filter(gateway=""),
    Filter(orchestrator="0xAA"),
    Filter(model="flux", gpu="g1"),
    Filter(workflow_type="transcode"),
    Filter(gpu="nobody's"),
    Filter(outcome=Progress.SUCCESS),
    Filter(swapped=True),
    Filter(metric=Metric.STARTUP, at_least_ms=200.0),
    Filter(search="pipeline-a"),
]
ONE_MORE = """
INSERT INTO session_sums (tenant_id, by, days, start_day, key, sessions, made)
SELECT tenant_id, by, days, start_day, 'nobody', 1, made FROM session_sums
WHERE tenant_id = {tenant_id:UUID} AND start_day = {day:Date}
LIMIT 1 BY made
"""
Question = Callable[[TenantId, Filter], Awaitable[object]]


class Both:
    """Writes everything for two tenants, and sums days of the first alone."""

    def __init__(self, analytics: Analytics, random: Random) -> None:
        self.analytics, self.random = analytics, random
        self.summed, self.plain = new_tenant(), new_tenant()
        self.stores = [FactStore(analytics, tenant) for tenant in (self.summed, self.plain)]
        self.rollups = RollupStore(analytics)
        self.answers = SessionAnalytics(analytics, clock=ManualClock(NOW))
        self.shown: dict[str, SessionFacts] = {}
        self.passes = 0

    async def write(self, facts: Sequence[SessionFacts], gone: Collection[SessionFacts] = ()) -> None:
        """As a pass does: a session that has moved or is gone is deleted where it was."""
        self.passes += 1
        before = [self.shown[one.session.workflow_session_id] for one in facts if _name(one) in self.shown]
        left = (places(before) | places(gone)) - places(facts)
        for store in self.stores:
            await store.note(places(facts))
            await store.write(self.passes, facts, left)
        self.shown |= {_name(one): one for one in facts}
        for one in gone:
            del self.shown[_name(one)]

    async def sum(self, share: float = 1.0) -> None:
        for due in await self.rollups.due(AT_ONCE, AT_ONCE, ALL):
            if due.tenant_id == self.summed and self.random.random() < share:
                await self.rollups.sum(due)
        for week in weeks(await self.rollups.fresh(self.summed, *EVERY_DAY)):
            if self.random.random() < share and not await self.rollups.weeks(self.summed, [week.name]):
                await self.rollups.sum_week(self.summed, week)

    async def fresh(self) -> set[date]:
        return {*await self.rollups.fresh(self.summed, *EVERY_DAY)}

    async def compare(self, wanted: Filter) -> None:
        for question in self.random.sample(self.questions(), ASKED):
            assert await question(self.summed, wanted) == await question(self.plain, wanted), wanted

    def questions(self) -> list[Question]:
        answers, by = self.answers, self.random.choice([*Dimension])
        metric, kind = self.random.choice([*Metric]), self.random.choice([*Leaders])
        seconds = self.random.choice([None, 1_800, 3_600, 7_200, 5 * 3_600, 86_400, 3 * 86_400])
        window = SessionWindow(self.random.choice([1, 7, 60]), from_the_end=self.random.random() < 0.5)
        order = self.random.choice([*Order])
        return [
            answers.summary,
            lambda tenant, wanted: answers.series(tenant, wanted, seconds),
            lambda tenant, wanted: answers.distribution(tenant, wanted, metric),
            lambda tenant, wanted: answers.breakdown(tenant, wanted, by, 200),
            lambda tenant, wanted: answers.leaders(tenant, wanted, Board(kind, by, at_least=2)),
            lambda tenant, wanted: answers.page(tenant, wanted, order, window),
        ]

    def a_filter(self) -> Filter:
        """Ends on days, on hours and in between."""
        whole = NOW.replace(hour=0) + timedelta(days=1)
        until = whole - timedelta(hours=self.random.choice([0, 12, 24, 36, 61])) - self.a_little()
        since = until - timedelta(days=self.random.choice([1, 3, 7, 15])) + self.a_little()
        return replace(self.random.choice(FILTERS), since=since, until=until)

    def a_little(self) -> timedelta:
        return timedelta(milliseconds=self.random.choice([0, 0, 1, HOUR_MS, HOUR_MS + 1]))

    def changed(self, facts: SessionFacts) -> SessionFacts:
        """A later version, here and there under another day."""
        moved = self.random.choice([0, 0, 0, 1, 30]) * HOUR_MS
        session = facts.session
        return replace(
            facts,
            session=replace(
                session,
                session_start_ts=session.session_start_ts - moved,
                startup_ms=self.random.choice([None, self.random.randrange(10**5)]),
                gateway=self.random.choice(["gate-1", "gate-3", None]),
                swap_count=self.random.randrange(3),
            ),
        )


def _name(facts: SessionFacts) -> str:
    return facts.session.workflow_session_id


def _day(facts: SessionFacts) -> date:
    return start_day(facts.session.session_start_ts)


def of_few_days(facts: Sequence[SessionFacts]) -> list[SessionFacts]:
    """Those of the last four days that have some: each day is summed by a statement of its own."""
    last = sorted({_day(one) for one in facts})[-4:]
    return [one for one in facts if _day(one) in last]


class Cramped(Analytics):
    """Has too little memory for the sums of these days."""

    def __init__(self, through: Analytics, days: Collection[date]) -> None:
        self._through, self._days = through, days

    async def query_arrow(self, sql: str, parameters: Parameters = NONE) -> ArrowTable:
        return await self._through.query_arrow(sql, parameters)

    async def command(self, sql: str, parameters: Parameters = NONE) -> None:
        if sql == SUM and parameters["day"] in self._days:
            raise LimitExceeded("too little memory")
        await self._through.command(sql, parameters)


async def test_days_that_are_too_large_hold_up_no_others(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tables of its own: it sums the days of every tenant."""
    monkeypatch.setattr(service, "MOST_DAYS", 2)
    async with empty_analytics(endpoints.clickhouse) as analytics:
        await ensure_tables(analytics)
        await large_days_hold_up_no_others(analytics)


async def large_days_hold_up_no_others(analytics: Analytics) -> None:
    both = Both(analytics, Random(6))
    facts = of_few_days(made_up_facts(80, 6))
    await both.write(facts)
    days = sorted({_day(one) for one in facts})
    large = {*days[-3:]}
    passes = RollupService(Cramped(analytics, large), AnalyticsSettings(sum_after=AT_ONCE))
    while await passes.run_pass():
        pass
    assert await both.fresh() == {*days} - large
    large.clear()
    await both.write([*both.shown.values()])
    while await passes.run_pass():
        pass
    assert await both.fresh() == {*days}


@pytest.mark.chaos
@pytest.mark.parametrize(("seed", "sessions"), [(1, 40), (3, 150), (5, 1_500)])
async def test_sums_change_no_answer(analytics: Analytics, seed: int, sessions: int) -> None:
    both = Both(analytics, Random(seed))
    await both.write(made_up_facts(sessions, seed))
    for _ in range(ROUNDS):
        await both.sum(both.random.choice([0.3, 1.0]))
        for _ in range(3):
            await both.compare(both.a_filter())
        some = both.random.sample([*both.shown.values()], both.random.choice([1, 5, 30]))
        await both.write(
            [both.changed(one) for one in some], both.random.sample([*both.shown.values()], 2)[: len(some) - 1]
        )
        for _ in range(3):
            await both.compare(both.a_filter())


async def test_exactly_the_days_that_were_written_are_summed_again(analytics: Analytics) -> None:
    both = Both(analytics, Random(1))
    await both.write(of_few_days(made_up_facts(80, 1)))
    assert not await both.fresh()
    await both.sum()
    every = await both.fresh()
    assert every == {_day(one) for one in both.shown.values()}
    one = next(iter(both.shown.values()))
    await both.write([one])
    assert every - await both.fresh() == {_day(one)}
    await both.sum()
    assert await both.fresh() == every


async def test_a_day_is_not_summed_while_it_is_written(analytics: Analytics) -> None:
    both = Both(analytics, Random(2))
    await both.write(made_up_facts(20, 2))
    assert not [due for due in await both.rollups.due(timedelta(hours=1), AT_ONCE, ALL) if due.tenant_id == both.summed]
    await both.sum()
    day = min(await both.fresh())
    days = DayStore(analytics, both.summed)
    await days.begin([day])
    assert day not in await both.fresh()
    assert not [due for due in await both.rollups.due(AT_ONCE, timedelta(hours=1), ALL) if due.tenant_id == both.summed]
    await both.sum()  # as after longer than a write can take
    assert day in await both.fresh()
    await days.end([day])  # it was only late
    assert day not in await both.fresh()


class Killed(Exception):
    pass


class Dying(Analytics):
    """Writes through another one until it is killed, after so many inserts."""

    def __init__(self, through: Analytics, inserts: int) -> None:
        self._through, self._left = through, inserts

    async def insert_arrow(self, table: str, rows: object) -> int:
        if not self._left:
            raise Killed
        self._left -= 1
        return await self._through.insert_arrow(table, rows)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("inserts", range(3))
async def test_a_writer_that_dies_leaves_no_wrong_sum(analytics: Analytics, inserts: int) -> None:
    """Before the rows, after them, and before their end is noted."""
    both = Both(analytics, Random(inserts))
    await both.write(of_few_days(made_up_facts(120, inserts)))
    await both.sum()
    later = [both.changed(one) for one in [*both.shown.values()][:10]]
    for tenant in (both.summed, both.plain):
        store = FactStore(Dying(analytics, inserts), tenant)
        with pytest.raises(Killed):
            await store.write(2, later, places([*both.shown.values()][:10]) - places(later))
    await both.compare(Filter(since=NOW - timedelta(days=12)))
    both.passes = 2
    await both.write(later)  # the pass is made again
    await both.compare(Filter(since=NOW - timedelta(days=12)))
    await both.sum()
    await both.compare(Filter(since=NOW - timedelta(days=12)))


async def test_a_sum_that_was_left_half_way_does_not_count(analytics: Analytics) -> None:
    both = Both(analytics, Random(3))
    await both.write(of_few_days(made_up_facts(80, 3)))
    own = analytics.within(both.summed)
    for due in await both.rollups.due(AT_ONCE, AT_ONCE, ALL):
        if due.tenant_id == both.summed:
            values = {"day": due.start_day, "made": "00000000-0000-4000-8000-000000000000"}
            await own.command(SUM, values)
    assert not await both.fresh()
    await both.sum()
    await both.sum()  # two at once would do no more
    await both.compare(Filter(since=NOW - timedelta(days=12)))


async def test_old_sums_are_forgotten_and_no_others(analytics: Analytics) -> None:
    both = Both(analytics, Random(4))
    await both.write(made_up_facts(40, 4))
    await both.sum()
    await both.write([*both.shown.values()][:5])
    await both.sum()
    kept = await both.fresh()
    await both.rollups.forget(timedelta(hours=1))
    assert await _made(both) > len(kept)
    await both.rollups.forget(AT_ONCE)
    assert await _made(both) == len(kept) + 1  # a week
    await both.compare(Filter(since=NOW - timedelta(days=12)))


async def test_validation_finds_a_sum_that_is_not_what_its_sessions_give(
    database: Database, analytics: Analytics
) -> None:
    both = Both(analytics, Random(5))
    await both.write(made_up_facts(60, 5))
    await both.sum()
    assert [week.monday for week in weeks(await both.rollups.fresh(both.summed, *EVERY_DAY))]
    validation = FactValidation(database, analytics)
    assert (await sums_found(validation, both.summed)).wrong == 0
    [day, *_] = sorted(await both.fresh())
    name = next(iter(both.shown))
    moved = replace(both.shown[name].session, session_start_ts=int(NOW.timestamp() * 1_000))
    await both.write([replace(both.shown[name], session=moved)])
    await both.sum()
    assert (await sums_found(validation, both.summed)).wrong == 0
    await analytics.within(both.summed).command(ONE_MORE, {"day": day})
    found = await sums_found(validation, both.summed)
    assert found.wrong
    assert {example.id for example in found.examples} == {day.isoformat()}


async def sums_found(validation: FactValidation, tenant_id: TenantId) -> Finding:
    return next(finding for finding in await validation.run(tenant_id) if finding.name == ROLLUPS)


async def _made(both: Both) -> int:
    sql = "SELECT uniqExact(start_day, made) AS made FROM session_sums WHERE tenant_id = {tenant_id:UUID}"
    [row] = (await both.analytics.within(both.summed).query_arrow(sql)).to_pylist()
    return row["made"]
