"""Asks every promise of the facts, for one tenant."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from touchline.kernel import TenantId
from touchline.measure.ingest.model import State
from touchline.measure.ingest.store import BatchStore, Listed
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .queries import CHECKS, DELIVERED, bounded

MOST_EXAMPLES = 5
PAGE = 1000
BEHIND_ALL = "\x7f"  # names of deliveries are visible characters
LISTED = "counters_add_up"
LISTED_WHAT = "every record that was delivered is counted, once"


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


class Validation:
    def __init__(self, database: Database, analytics: Analytics) -> None:
        self._database = database
        self._analytics = analytics

    async def run(self, tenant_id: TenantId) -> list[Finding]:
        unfolded, incomplete = list[str](), list[Example]()
        async for page, after in self._pages(tenant_id):
            unfolded += [one.batch_id for one in page if one.state != State.FOLDED]
            wanted = {"after": after, "to": page[-1].batch_id if page else BEHIND_ALL}
            rows = (await self._analytics.within(tenant_id).query_arrow(DELIVERED, wanted)).to_pylist()
            incomplete += _incomplete(page, {row["batch_id"]: row["records"] for row in rows})
        listed = Finding(LISTED, LISTED_WHAT, len(incomplete), tuple(incomplete[:MOST_EXAMPLES]))
        return [listed, *[await self.check(tenant_id, name, unfolded) for name in CHECKS]]

    async def check(self, tenant_id: TenantId, name: str, unfolded: Sequence[str] = ()) -> Finding:
        """One promise. What is not folded yet may be without rows."""
        promise, sql = CHECKS[name]
        values: dict[str, Any] = {"unfolded": list(unfolded)} if "{unfolded:" in sql else {}
        found = await self._analytics.within(tenant_id).query_arrow(bounded(sql), {**values, "most": MOST_EXAMPLES})
        rows = found.to_pylist()
        examples = tuple(Example(row["id"], row["found"]) for row in rows)
        return Finding(name, promise, rows[0]["wrong"] if rows else 0, examples)

    async def _pages(self, tenant_id: TenantId) -> AsyncIterator[tuple[Sequence[Listed], str]]:
        after = ""
        while True:
            async with self._database.transaction(tenant_id) as transaction:
                page = await BatchStore(transaction.connection).listed(after, PAGE)
            yield page, after
            if not page:
                return
            after = page[-1].batch_id


def _incomplete(page: Sequence[Listed], there: dict[str, int]) -> list[Example]:
    """One that is on its way may be there or not."""
    listed = {one.batch_id for one in page}
    wrong = [
        Example(one.batch_id, f"{there.get(one.batch_id, 0)} of {one.records} records")
        for one in page
        if one.state != State.RECEIVING and there.get(one.batch_id, 0) != one.records
    ]
    return wrong + [Example(one, f"{there[one]} records of no delivery") for one in sorted(there.keys() - listed)]
