"""Events into a real ClickHouse and facts out of it, beside what the core says of the same events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from touchline.kernel import Clock, TenantId
from touchline.measure.facts.service import FoldService
from touchline.measure.ingest.raw_event_store import RawEventStore
from touchline.measure.ingest.rules import Receipt, RecordCounts
from touchline.measure.ingest.service import IngestService
from touchline.measure.sessions.model import SessionFacts
from touchline.measure.settings import IngestSettings
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.postgres.database import Database

from .sessions import RULES, facts_of

SESSIONS = "SELECT * EXCEPT (tenant_id, start_day) FROM fact_workflow_sessions WHERE tenant_id = {tenant_id:UUID}"
SEGMENTS = """
SELECT * EXCEPT (tenant_id, start_day) FROM fact_workflow_session_segments WHERE tenant_id = {tenant_id:UUID}
ORDER BY workflow_session_id, segment_index
"""
UPDATES = """
SELECT * EXCEPT (tenant_id, start_day) FROM fact_workflow_param_updates WHERE tenant_id = {tenant_id:UUID}
ORDER BY workflow_session_id, update_index
"""

Facts = dict[str, dict[str, Any]]


class Measuring:
    """One tenant's door to ingest and folding."""

    def __init__(
        self,
        database: Database,
        analytics: Analytics,
        tenant_id: TenantId,
        settings: IngestSettings | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.tenant_id = tenant_id
        self.database = database
        self.settings = settings or IngestSettings()
        self.rules = RULES
        self.analytics = analytics
        self.ingest = IngestService(database, analytics, self.settings)
        self.folds = FoldService(database, analytics, RULES, self.settings, clock)
        self.journal = RawEventStore(analytics, tenant_id)

    async def deliver(self, batch_id: str, records: Iterable[object]) -> Receipt:
        return await self.ingest.deliver(self.tenant_id, batch_id, as_lines(records), "test")

    async def fold(self) -> int:
        """All that waits; in how many passes."""
        passes = 0
        while await self.folds.run_pass(self.tenant_id):
            passes += 1
        return passes

    async def count(self) -> RecordCounts:
        return await self.journal.count()

    async def facts(self) -> Facts:
        """As they are read, by session."""
        own = self.analytics.within(self.tenant_id)
        found: Facts = {}
        for row in (await own.query_arrow(SESSIONS)).to_pylist():
            assert row["workflow_session_id"] not in found
            found[row["workflow_session_id"]] = row | {"segments": [], "parameters": []}
        for name, sql in (("segments", SEGMENTS), ("parameters", UPDATES)):
            for row in (await own.query_arrow(sql)).to_pylist():
                found[row["workflow_session_id"]][name].append(row)
        return found


def as_lines(records: Iterable[object]) -> list[bytes]:
    return [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]


def expected(records: Iterable[object]) -> Facts:
    """What the core says of them all at once."""
    return {session_id: _document(facts) for session_id, facts in facts_of(records).items()}


def _document(facts: SessionFacts) -> dict[str, Any]:
    return _listed(
        asdict(facts.session)
        | {
            "segments": [asdict(segment) for segment in facts.segments],
            "parameters": [asdict(update) for update in facts.parameters],
            "observed_addresses": facts.observed_addresses,
            "final_from_ts": facts.final_from_ts,
        }
    )


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _listed(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(member) for member in value]
    return value


def split(records: Sequence[object], parts: int) -> list[Sequence[object]]:
    size = -(-len(records) // parts)
    return [records[at : at + size] for at in range(0, len(records), size)]
