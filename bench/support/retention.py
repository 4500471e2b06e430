"""Retention over a large archive in which everything is over its time: does a pass get slower as dead rows pile up?

Every pass is a whole one, as the product runs it: what is due of all tenants, deleted with its records and events. The
first ones are compared with the last ones, by their medians. Run alone: `python -m support.retention` in `bench`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from datetime import timedelta

import psycopg

from touchline.kernel import SystemClock
from touchline.platform.endpoints import ObjectsEndpoint, PostgresEndpoint
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.settings import ObjectsSettings
from touchline.serve.retention.service import Expiry, RetentionContext
from touchline.serve.settings import ServeSettings

from .postgres import embedded_postgres
from .report import report

ROWS, PER_PASS, TENANTS, COMPARED = 1_000_000, 5_000, 20, 5
NOWHERE = ObjectsEndpoint("http://127.0.0.1:1", "bench", "us-east-1", "none", "none")  # retention asks no object store
FILL = """
SELECT set_config('request.jwt.claims', jsonb_build_object('tenant_id', %(tenant)s::text)::text, true);
WITH rows AS (
  SELECT md5(%(tenant)s::text || n) AS hash, '2026-01-01'::timestamptz - n * interval '1 s' AS moment
    FROM generate_series(1, %(rows)s) AS n
), identities AS (
  INSERT INTO serve.identities (tenant_id, artifact_hash, playback_id, internal_name, kind, user_id,
                                created_at)
  SELECT platform.current_tenant(), hash, left(md5(hash), 16), md5('i' || hash), 'upload', md5('u')::uuid, moment
    FROM rows
  RETURNING tenant_id, artifact_hash, created_at
), uploads AS (
  INSERT INTO serve.uploads (tenant_id, artifact_hash, id, title, file_name, size_bytes, created_at, placed_at,
                             retention_ms, retention_until)
  SELECT tenant_id, artifact_hash, artifact_hash::uuid, 'x', 'x.mp4', 1, created_at, created_at, 1, created_at
    FROM identities
)
INSERT INTO serve.artifacts (tenant_id, artifact_hash, artifact_type, internal_name, user_id, status, original_key,
                             content_type, size_bytes, synced, manifest_key, created_at, reported_at,
                             retention_ms, retention_until)
SELECT tenant_id, artifact_hash, 'upload', md5('i' || artifact_hash), md5('u')::uuid, 'ready', 'k', 'video/mp4', 1,
       true, 'm', created_at, created_at, 1, created_at
  FROM identities
"""
NEW_INTERVAL = "UPDATE platform.periodic SET quota_started_at = NULL"


async def measure_retention(rows: int = ROWS, per_pass: int = PER_PASS) -> dict[str, float | str]:
    async with embedded_postgres() as (endpoint, _):
        await _fill(endpoint, rows)
        async with Database(endpoint.app_url) as database:
            context = RetentionContext(
                database, ObjectStore(NOWHERE, ObjectsSettings()), ServeSettings(), SystemClock()
            )
            seconds = await _passes(context, per_pass)
    first, last = statistics.median(seconds[:COMPARED]), statistics.median(seconds[-COMPARED:])
    return {
        "artifacts": rows,
        "artifacts in a pass": per_pass,
        "first passes, seconds": first,
        "last passes, seconds": last,
        "last to first (at most 1.5)": last / first,
        "artifacts a second": rows / sum(seconds),
    }


async def _fill(endpoint: PostgresEndpoint, rows: int) -> None:
    async with await psycopg.AsyncConnection.connect(endpoint.app_url, autocommit=True) as connection:
        for number in range(TENANTS):
            values = {"tenant": f"00000000-0000-7000-8000-{number:012d}", "rows": rows // TENANTS}
            async with connection.transaction():
                for statement in FILL.split(";\n"):
                    await connection.execute(statement.encode(), values)
    async with await psycopg.AsyncConnection.connect(endpoint.owner_url, autocommit=True) as connection:
        await connection.execute("VACUUM ANALYZE")


async def _passes(context: RetentionContext, per_pass: int) -> list[float]:
    """How long each full pass took."""
    seconds: list[float] = []
    expiry, limited = Expiry(context, timedelta(hours=1), per_pass), True
    while limited:
        async with context.database.system("bench: the next interval") as transaction:
            await transaction.connection.execute(NEW_INTERVAL)
        began = time.perf_counter()
        limited = (await expiry.run()).limited
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--per-pass", type=int, default=PER_PASS)
    wanted = parser.parse_args()
    report("retention", asyncio.run(measure_retention(wanted.rows, wanted.per_pass)))
