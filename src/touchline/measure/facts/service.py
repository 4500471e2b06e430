"""Makes facts of stored deliveries, pass by pass; one pass at a time for each tenant.

Invariant: a delivery is folded only when all rows that follow from it are written. A pass that dies anywhere is made
again; late, twice or on two machines at once, the rows are the same in the end.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from touchline.kernel import Clock, SystemClock, TenantId
from touchline.measure.ingest.settings import IngestSettings
from touchline.measure.ingest.store import MOST_TAKEN, BatchStore, Taken
from touchline.measure.sessions.model import Capability
from touchline.measure.sessions.parser import latest_believed
from touchline.measure.sessions.rules import Rules
from touchline.measure.supporting.model import Combination
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .folding import MOST_NAMED, Folding, Hold
from .metrics import FOLDED_RECORDS, FOLDED_SESSIONS, PASS_SECONDS, PASSES
from .model import Concern, PassReport, Portion
from .rules import add_beside, decide

logger = logging.getLogger(__name__)


class FoldService:
    def __init__(
        self,
        database: Database,
        analytics: Analytics,
        rules: Rules,
        settings: IngestSettings,
        clock: Clock | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._database = database
        self._analytics = analytics
        self._rules = rules
        self._settings = settings

    @property
    def settings(self) -> IngestSettings:
        return self._settings

    async def waiting(self) -> list[TenantId]:
        async with self._database.system("find deliveries to fold") as transaction:
            return [TenantId(tenant) for tenant in await BatchStore(transaction.connection).waiting()]

    async def run_pass(self, tenant_id: TenantId) -> PassReport | None:
        """None when somebody else is at it, or nothing is left."""
        began_at = time.perf_counter()
        async with self._held(tenant_id) as hold:
            taken = await self._take(tenant_id, hold.number) if hold else ()
            if not hold or not taken:
                return None
            sessions = await self._fold(tenant_id, hold, taken)
            async with self._database.transaction(tenant_id) as transaction:
                await BatchStore(transaction.connection).folded(hold.number, taken)
        records = sum(one.records for one in taken)
        PASSES.inc()
        PASS_SECONDS.observe(time.perf_counter() - began_at)
        FOLDED_RECORDS.inc(records)
        FOLDED_SESSIONS.inc(sessions)
        logger.info("folded", extra={"batches": len(taken), "records": records, "sessions": sessions})
        more = records >= self._settings.fold_records or len(taken) >= MOST_TAKEN
        return PassReport(len(taken), records, sessions, more)

    async def rebuild(self, tenant_id: TenantId, tell: Callable[[int], None]) -> int:
        """Folds every session again, some at a time, while others may go on delivering. How many there were."""
        folding, after, total = self._folding(tenant_id), "", 0
        while True:
            async with self._held(tenant_id) as hold:
                if not hold:
                    await asyncio.sleep(self._settings.fold_interval.total_seconds())
                    continue
                sessions = await self._next(folding, after)
                if not sessions:
                    await folding.set_time(hold)
                    return total
                await folding.fold(hold, sessions, None)
            after, total = sessions[-1], total + len(sessions)
            tell(total)

    async def fold_again(self, tenant_id: TenantId, session_ids: Collection[str]) -> None:
        """These, from what is stored of them. Rows of a session without events go, wherever they lie."""
        folding, left = self._folding(tenant_id), sorted(session_ids)
        while left:
            async with self._held(tenant_id) as hold:
                if not hold:
                    await asyncio.sleep(self._settings.fold_interval.total_seconds())
                    continue
                await folding.facts.note(await folding.facts.rows_of(left[:MOST_NAMED]))
                await folding.fold(hold, left[:MOST_NAMED], None)
                left = left[MOST_NAMED:]

    async def _next(self, folding: Folding, after: str) -> list[str]:
        """In order: those that have events, and those that were ever written and may have none any more."""
        some = await folding.journal.sessions_after(after, MOST_NAMED)
        some += await folding.facts.written_after(after, MOST_NAMED)
        return sorted(set(some))[:MOST_NAMED]

    @asynccontextmanager
    async def _held(self, tenant_id: TenantId) -> AsyncGenerator[Hold | None]:
        """The number is drawn under the hold: who holds later has the higher one."""
        async with self._database.transaction(tenant_id) as transaction:
            store = BatchStore(transaction.connection)
            now_ms = latest_believed(self._clock.now(), timedelta(0))
            yield Hold(await store.number(), now_ms, store.still) if await store.alone() else None

    async def _take(self, tenant_id: TenantId, number: int) -> Sequence[Taken]:
        """In a transaction of its own: that a pass has begun must be known if it does not end."""
        async with self._database.transaction(tenant_id) as transaction:
            return await BatchStore(transaction.connection).take(number, self._settings.fold_records)

    def _folding(self, tenant_id: TenantId) -> Folding:
        return Folding(self._analytics, tenant_id, self._rules, self._settings.fold_bytes)

    async def _fold(self, tenant_id: TenantId, hold: Hold, taken: Sequence[Taken]) -> int:
        folding, batch_ids = self._folding(tenant_id), [one.batch_id for one in taken]
        seen = await folding.journal.seen(batch_ids)
        if not seen:
            return 0
        shared = await folding.journal.shared_by_batches(batch_ids)
        uids = {one.uid for one in seen}
        touched = {one.session_id for one in seen} | {session for several in shared.values() for session in several}
        outside = {one.uid: shared.get(one.uid, [""]) for one in seen if not one.session_id}
        beside = await self._beside(folding, outside)
        concern = await self._concern(folding, beside.said, doubtful=any(one.taken_before for one in taken))
        await folding.supporting.write(hold.number, beside.portion.rows, beside.portion.gone)
        if concern:
            touched |= {*await folding.facts.concerned(concern)}
        touched.discard("")
        times = await folding.fold(hold, touched, uids)
        times.include(beside.portion.times)
        await folding.keep_time(hold, times)
        return len(touched)

    async def _beside(self, folding: Folding, uids: Mapping[str, Sequence[str]]) -> _Beside:
        """Events of no session, each with the places that claim it."""
        if not uids:
            return _Beside(Portion({}), [])
        places = sorted({place for several in uids.values() for place in several})
        copies = await folding.journal.copies_of_uids(places, sorted(uids))
        decided = await asyncio.to_thread(decide, copies)
        portion = Portion({})
        for one in decided:
            add_beside(portion, one)
        copies = (copy for one in decided for copy in (one.counting, *one.others))
        return _Beside(portion, [row for copy in copies for row in copy.capabilities])

    async def _concern(self, folding: Folding, rows: Sequence[Capability], *, doubtful: bool) -> Concern | None:
        """What no other snapshot says may change any session that saw it. What an interrupted pass may have written
        already cannot be told from what was known before: then all of it counts as new."""
        if not rows:
            return None
        said = {Combination(row.address, row.local_address, row.url, row.models) for row in rows}
        snapshots = sorted({row.snapshot_uid for row in rows})
        known = set[Combination]() if doubtful else await folding.supporting.known_already(said, snapshots)
        return Concern(
            changed=_names(said - known),
            listed=_names(said),
            from_ts=min(row.ts for row in rows) - self._rules.window_ms,
            to_ts=max(row.ts for row in rows) + self._rules.window_ms,
        )


@dataclass(frozen=True, slots=True)
class _Beside:
    portion: Portion
    said: list[Capability]  # by snapshots, those that do not count as well: what they said is taken back


def _names(combinations: Collection[Combination]) -> frozenset[str]:
    return frozenset[str]().union(*(one.names for one in combinations))
