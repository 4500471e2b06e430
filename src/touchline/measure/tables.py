"""All tables of measuring in ClickHouse."""

from __future__ import annotations

from touchline.measure.answers.sums import store as sums
from touchline.platform.clickhouse.client import Analytics

from .facts import store as facts
from .journal import store as journal
from .lifecycle import store as lifecycle
from .supporting import store as supporting


async def ensure_tables(analytics: Analytics) -> None:
    for store in (lifecycle, journal, supporting, facts, sums):
        await store.ensure_tables(analytics)
