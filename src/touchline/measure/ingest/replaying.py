"""Reads what was quarantined or ignored once more, with the rules of today.

Invariant: a record keeps its place in its delivery, so that nothing is counted twice. A delivery of which something is
read anew is on its way until that is written, and is folded then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from touchline.kernel import Clock, SystemClock, TenantId
from touchline.measure.journal.model import Batch, Delivered, Place, SetAside
from touchline.measure.journal.rules import delivered
from touchline.measure.journal.store import JournalStore, Wanted
from touchline.measure.sessions.parser import Reason, latest_believed
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .settings import IngestSettings
from .store import BatchStore

PAGE = 1000


@dataclass(frozen=True, slots=True)
class Replayed:
    looked_at: int
    changed: dict[str, int]  # by what they are now


class Replay:
    def __init__(
        self, database: Database, analytics: Analytics, settings: IngestSettings, clock: Clock | None = None
    ) -> None:
        self._database = database
        self._analytics = analytics
        self._settings = settings
        self._clock = clock or SystemClock()

    async def run(self, tenant_id: TenantId, wanted: Wanted) -> Replayed:
        journal, after = JournalStore(self._analytics, tenant_id), ("", 0)
        looked_at, changed = 0, Counter[str]()
        while page := await journal.set_aside(wanted, after, PAGE):
            latest_ts = latest_believed(self._clock.now(), self._settings.max_ahead)
            for batch_id, records in await asyncio.to_thread(_changed, page, latest_ts):
                await self._write(journal, tenant_id, batch_id, records)
                changed.update(record.verdict for record in records)
            looked_at, after = looked_at + len(page), (page[-1].batch_id, page[-1].ordinal)
        return Replayed(looked_at, dict(sorted(changed.items())))

    async def _write(
        self, journal: JournalStore, tenant_id: TenantId, batch_id: str, records: Sequence[Delivered]
    ) -> None:
        async with self._database.transaction(tenant_id) as transaction:
            received = await BatchStore(transaction.connection).read_again(batch_id)
        if received is None:  # its rows were left by a delivery that never was finished, and is forgotten
            return
        gone = {Place("", "", record.ordinal) for record in records} - {record.place for record in records}
        await journal.keep(Batch(batch_id, received.received_at, received.reading), records, gone)
        async with self._database.transaction(tenant_id) as transaction:
            await BatchStore(transaction.connection).stored(batch_id)


def _changed(page: Iterable[SetAside], latest_ts: int) -> list[tuple[str, list[Delivered]]]:
    """By delivery, what is read otherwise now."""
    found: list[tuple[str, list[Delivered]]] = []
    for batch_id, records in groupby(page, key=lambda record: record.batch_id):
        pairs = ((record, delivered(record.ordinal, record.body, latest_ts)) for record in records)
        if several := [now for before, now in pairs if _verdict(before) != _verdict(now)]:
            found.append((batch_id, several))
    return found


def _verdict(record: SetAside | Delivered) -> tuple[str, str, str, str]:
    detail = "" if record.reason == Reason.IN_THE_FUTURE else record.detail  # it names the moment of the reading
    return record.verdict, record.reason, detail, record.type
