"""Folds sessions of one tenant again from what is stored, for whoever holds the tenant.

Invariant: whatever happens in between, the rows of the highest pass are the ones that follow from all stored events.
A pass that has lost its hold may still write: its lower number loses, also at a place that the next pass did not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from touchline.kernel import TenantId
from touchline.measure.journal.model import Copy
from touchline.measure.journal.store import JournalStore
from touchline.measure.sessions.evidence import merge
from touchline.measure.sessions.model import Evidence
from touchline.measure.sessions.rules import Rules
from touchline.measure.supporting.store import SupportingStore
from touchline.platform.clickhouse.client import Analytics

from .directory import concluded
from .model import Placed, Portion, Times
from .rules import chunks, decide, portion, start_day
from .store import FactStore

MOST_SESSIONS = 1000  # that are held at once
MOST_NAMED = 2000  # that one statement names
MOST_LATEST = 200
LATEST_TS = 2**62


@dataclass(frozen=True, slots=True)
class Hold:
    """The number of a pass, the time when it began, and a way to ask whether its tenant is still held."""

    number: int
    now_ms: int
    still: Callable[[], Awaitable[None]]


class Folding:
    def __init__(self, analytics: Analytics, tenant_id: TenantId, rules: Rules, most_bytes: int) -> None:
        self.journal = JournalStore(analytics, tenant_id)
        self.supporting = SupportingStore(analytics, tenant_id)
        self.facts = FactStore(analytics, tenant_id)
        self._rules = rules
        self._most_bytes = most_bytes

    async def fold(self, hold: Hold, session_ids: Collection[str], fresh: Collection[str] | None) -> Times:
        """`fresh` are the uids whose rows beside the sessions are written; None: all."""
        named, times = sorted(session_ids), Times()
        for at in range(0, len(named), MOST_NAMED):
            async for found in self._portions(named[at : at + MOST_NAMED], fresh):
                await self.supporting.write(hold.number, found.rows, found.gone)
                await self._write(hold, found.evidence)
                times.include(found.times)
        return times

    async def keep_time(self, hold: Hold, times: Times) -> None:
        """The clock goes on with the events that count, and back only when the one that set it counts no more. It is
        never ahead of ours: an event may be, a little, and must not end what others still do."""
        before = await self.facts.horizon()
        greatest = await self._greatest() if before in times.contested else max(before, times.greatest)
        if (now := min(greatest, hold.now_ms)) != before:
            await self.facts.set_horizon(hold.number, now)

    async def set_time(self, hold: Hold) -> None:
        await self.facts.set_horizon(hold.number, min(await self._greatest(), hold.now_ms))

    async def _greatest(self) -> int:
        """From the latest copies back, until none that is left can be later than what was found."""
        found, below = 0, LATEST_TS
        while latest := await self.journal.latest(below, MOST_LATEST):
            sessions = sorted({session for one in latest for session in one.sessions})
            decided = decide(await self.journal.copies_of_uids(sessions, [one.uid for one in latest]))
            found = max([found, *(one.counting.ts for one in decided)])
            below = min(one.latest_ts for one in latest)
            if found >= below:
                break
        return found

    async def _portions(self, session_ids: Sequence[str], fresh: Collection[str] | None) -> AsyncIterator[Portion]:
        sizes = await self.journal.sizes(session_ids)
        known = {session_id: sizes.get(session_id, 0) for session_id in session_ids}
        for chunk in chunks(known, self._most_bytes, MOST_SESSIONS):
            parts = -(-known[chunk[0]] // self._most_bytes) if len(chunk) == 1 else 1
            if parts > 1:
                yield await self._long(chunk[0], parts, fresh)
            else:
                copies = await self.journal.copies_of_sessions(chunk)
                copies += await self._elsewhere(chunk)
                yield await asyncio.to_thread(portion, chunk, copies, fresh)

    async def _long(self, session_id: str, parts: int, fresh: Collection[str] | None) -> Portion:
        """One session that is too long to be held: part by part, each with all copies of its uids."""
        elsewhere = await self._elsewhere([session_id])
        together = Portion({session_id: None})
        for part in range(parts):
            copies = await self.journal.copies_of_part(session_id, part, parts)
            uids = {copy.uid for copy in copies}
            copies += [copy for copy in elsewhere if copy.uid in uids]
            found = await asyncio.to_thread(portion, [session_id], copies, fresh)
            together.evidence[session_id] = _merged(together.evidence[session_id], found.evidence[session_id])
            together.rows += found.rows
            together.gone += found.gone
            together.times.include(found.times)
        return together

    async def _elsewhere(self, session_ids: Sequence[str]) -> list[Copy]:
        """Copies in other sessions of uids that these hold: one of those may be the one that counts."""
        shared = await self.journal.shared_by_sessions(session_ids)
        others = {session for sessions in shared.values() for session in sessions} - set(session_ids)
        return await self.journal.copies_of_uids(sorted(others), sorted(shared)) if others else []

    async def _write(self, hold: Hold, evidence: dict[str, Evidence | None]) -> None:
        """Places first. What another pass has noted meanwhile is deleted afterwards, under our higher number."""
        facts = await concluded(self.supporting, [one for one in evidence.values() if one], self._rules)
        now = {Placed(one.session.workflow_session_id, start_day(one.session.session_start_ts)) for one in facts}
        before = await self.facts.places(list(evidence))
        await self.facts.note(now - before)
        await hold.still()
        await self.facts.write(hold.number, facts, before - now)
        late = await self.facts.places(list(evidence)) - before - now
        await self.facts.write(hold.number, [], late)


def _merged(one: Evidence | None, other: Evidence | None) -> Evidence | None:
    return merge(one, other) if one and other else one or other
