"""Asks every promise of the facts, for one tenant.

Invariant: however much there is, it is asked of some sessions or deliveries at a time, and all of them are asked.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, NamedTuple

from touchline.kernel import TenantId
from touchline.measure.answers.sums.rules import EVERY_DAY, weeks
from touchline.measure.answers.sums.store import SumStore
from touchline.measure.ingest.model import State
from touchline.measure.ingest.store import BatchStore, Listed
from touchline.measure.journal.model import NOT_STORED, Stored
from touchline.measure.journal.store import JournalStore
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .queries import CHECKS, PORTION, bounded

MOST_EXAMPLES = 5
PAGE = 1000
BEHIND_ALL = "\x7f"  # names of deliveries are visible characters
LISTED = "counters_add_up"
LISTED_WHAT = "every record that was delivered is counted, once"
SUMS = "sums_agree"
SUMS_WHAT = "what is summed by day and week is what the sessions give"


@dataclass(frozen=True, slots=True)
class Example:
    id: str
    found: str


@dataclass(frozen=True, slots=True)
class Finding:
    """`wrong` counts what breaks the promise; the examples are some of it."""

    name: str
    promise: str
    wrong: int
    examples: tuple[Example, ...]

    def with_(self, more: Finding) -> Finding:
        """Of this and of another portion."""
        examples = (*self.examples, *more.examples)[:MOST_EXAMPLES]
        return replace(self, wrong=self.wrong + more.wrong, examples=examples)


@dataclass(frozen=True, slots=True)
class Most:
    """What a portion holds, unless one session has more."""

    sessions: int = 200_000
    events: int = 1_000_000


class Portion(NamedTuple):
    """Sessions whose ids are behind `after`, up to `to`; that is blank when there is no end."""

    after: str
    to: str


class Validation:
    def __init__(self, database: Database, analytics: Analytics, most: Most | None = None) -> None:
        self._database = database
        self._analytics = analytics
        self._most = most or Most()

    async def run(self, tenant_id: TenantId) -> list[Finding]:
        listed, unfolded = await self._listed(tenant_id)
        findings = {name: _nothing(name) for name in CHECKS}
        async for portion in self.portions(tenant_id):
            for name in CHECKS:
                findings[name] = findings[name].with_(await self._asked(tenant_id, name, portion, unfolded))
        return [listed, *findings.values(), await self._summed(tenant_id)]

    async def check(self, tenant_id: TenantId, name: str, unfolded: Sequence[str] = ()) -> Finding:
        """One promise. What is not folded yet may be without rows."""
        finding = _nothing(name)
        async for portion in self.portions(tenant_id):
            finding = finding.with_(await self._asked(tenant_id, name, portion, unfolded))
        return finding

    async def _listed(self, tenant_id: TenantId) -> tuple[Finding, list[str]]:
        """Whether every delivery is whole, and those that are not folded."""
        finding, unfolded = Finding(LISTED, LISTED_WHAT, 0, ()), list[str]()
        async for page, after in pages(self._database, tenant_id):
            unfolded += [one.batch_id for one in page if one.state in (State.RECEIVING, State.STORED)]
            to = page[-1].batch_id if page else BEHIND_ALL
            there = await JournalStore(self._analytics, tenant_id).stored_between(after, to)
            incomplete = _incomplete(page, there)
            finding = finding.with_(replace(finding, wrong=len(incomplete), examples=tuple(incomplete)))
        return finding, unfolded

    async def _summed(self, tenant_id: TenantId) -> Finding:
        """Day by day and week by week: those that answers are made of now."""
        store, finding = SumStore(self._analytics), Finding(SUMS, SUMS_WHAT, 0, ())
        known = await store.fresh(tenant_id, *EVERY_DAY)
        for day, made in sorted(known.items()):
            finding = finding.with_(_of_sum(day, await store.wrong_of_day(tenant_id, day, made)))
        there = await store.weeks(tenant_id, [week.name for week in weeks(known)])
        for week in weeks(known):
            if made := there.get(week.name):
                finding = finding.with_(_of_sum(week.monday, await store.wrong_of_week(tenant_id, week, made)))
        return finding

    async def _asked(self, tenant_id: TenantId, name: str, portion: Portion, unfolded: Sequence[str]) -> Finding:
        rows = await self._wrong(tenant_id, name, portion, unfolded, MOST_EXAMPLES)
        examples = tuple(Example(row["id"], row["found"]) for row in rows)
        return Finding(name, CHECKS[name][0], rows[0]["wrong"] if rows else 0, examples)

    async def broken(self, tenant_id: TenantId, name: str, portion: Portion, most: int) -> set[str]:
        """Sessions of a portion that break a promise, at most so many."""
        return {row["id"] for row in await self._wrong(tenant_id, name, portion, (), most)}

    async def _wrong(
        self, tenant_id: TenantId, name: str, portion: Portion, unfolded: Sequence[str], most: int
    ) -> list[dict[str, Any]]:
        sql = CHECKS[name][1]
        values: dict[str, Any] = {"unfolded": list(unfolded)} if "{unfolded:" in sql else {}
        values |= {"after": portion.after, "to": portion.to, "most": most}
        return (await self._analytics.within(tenant_id).query_arrow(bounded(sql), values)).to_pylist()

    async def portions(self, tenant_id: TenantId) -> AsyncIterator[Portion]:
        """From the first id to behind the last one."""
        door, after = self._analytics.within(tenant_id), ""
        while True:
            [row] = (await door.query_arrow(PORTION, asdict(self._most) | {"after": after})).to_pylist()
            ends = [end for end in (row["by_sessions"], row["by_events"]) if end]
            yield Portion(after, min(ends, default=""))
            if not ends:
                return
            after = min(ends)


async def pages(database: Database, tenant_id: TenantId) -> AsyncIterator[tuple[Sequence[Listed], str]]:
    """All deliveries in the order of their names, each page with the name that it is behind. The last one is empty."""
    after = ""
    while True:
        async with database.transaction(tenant_id) as transaction:
            page = await BatchStore(transaction.connection).listed(after, PAGE)
        yield page, after
        if not page:
            return
        after = page[-1].batch_id


def not_whole(page: Sequence[Listed], there: Mapping[str, Stored]) -> list[tuple[Listed, Stored]]:
    """Deliveries that were finished and lack rows. One that is on its way may be there or not."""
    finished = (State.STORED, State.FOLDED)
    settled = [(one, there.get(one.batch_id, NOT_STORED)) for one in page if one.state in finished]
    return [(one, found) for one, found in settled if not found.is_whole(one.records)]


def _incomplete(page: Sequence[Listed], there: Mapping[str, Stored]) -> list[Example]:
    """One that is forgotten is not there, unless its insert has landed since."""
    listed = {one.batch_id for one in page if one.state != State.FORGOTTEN}
    wrong = [Example(one.batch_id, _beside(found, one.records)) for one, found in not_whole(page, there)]
    unknown = sorted(there.keys() - listed)
    return wrong + [Example(one, f"{max(there[one])} records of no delivery") for one in unknown]


def _beside(found: Stored, listed: int) -> str:
    return f"{found.records if found.records != listed else found.arrivals} of {listed} records"


def _of_sum(day: date, wrong: Sequence[str]) -> Finding:
    examples = tuple(Example(day.isoformat(), what) for what in wrong[:MOST_EXAMPLES])
    return Finding(SUMS, SUMS_WHAT, len(wrong), examples)


def _nothing(name: str) -> Finding:
    return Finding(name, CHECKS[name][0], 0, ())
