"""All tables of measuring in ClickHouse."""

from __future__ import annotations

from touchline.measure.analytics.rollups import store as rollups
from touchline.platform.clickhouse.client import Analytics

from .audit import store as audit
from .facts import reference_store as references, store as facts
from .ingest import raw_event_store as raw_events
from .lifecycle import store as lifecycle


async def ensure_tables(analytics: Analytics) -> None:
    for store in (lifecycle, audit, raw_events, references, facts, rollups):
        await store.ensure_tables(analytics)
