"""What must be there before the roles start: schemas, bucket, namespace, database. On our servers and on others.

Invariant: making what is there already changes nothing, from however many machines it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.migrations import Migration, migrate

from . import wiring
from .settings import Loaded


async def prepare(loaded: Loaded, tell: Callable[[str], None]) -> list[Migration]:
    """Answers which migrations were applied now."""
    settings, where = loaded.settings, wiring.endpoints(loaded)
    applied = await migrate(where.postgres.owner_url)
    for migration in applied:
        tell(f"applied {migration}")
    async with ObjectStore(where.objects, settings.objects) as objects:
        await objects.ensure_bucket()
    await ensure_database(where.clickhouse, settings.clickhouse)
    async with Analytics(where.clickhouse, settings.clickhouse) as analytics:
        await ensure_tables(analytics)
    if settings.temporal.address:  # the embedded one starts with its namespace
        from touchline.platform.temporal.client import connect, ensure_namespace  # a second to load

        await ensure_namespace(await connect(where.temporal, settings.temporal), settings.temporal)
    return applied
