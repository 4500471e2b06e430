"""All tables of measuring in ClickHouse."""

from __future__ import annotations

from touchline.measure.analytics.rollups import store as sums
from touchline.platform.clickhouse.client import Analytics

from .facts import reference_store as supporting
from .facts import store as facts
from .ingest import raw_event_store as journal
from .lifecycle import store as lifecycle


async def ensure_tables(analytics: Analytics) -> None:
    for store in (lifecycle, journal, supporting, facts, sums):
        await store.ensure_tables(analytics)
