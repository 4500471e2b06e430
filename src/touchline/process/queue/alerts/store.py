"""All SQL of samples and alerts. Runs across tenants."""

# ruff: noqa: S608  what is put into the statements is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, LiteralString

from psycopg import AsyncConnection

from touchline.platform.postgres.rows import fetch_all, fetch_one

from .model import Alert, Finding, Measured

SAMPLE: LiteralString = """
INSERT INTO process.job_samples (tenant_id, job_type, sampled_at, queued, processing, oldest_s)
SELECT tenant_id, job_type::text, date_trunc('minute', now()),
       count(*) FILTER (WHERE status = 'queued'), count(*) FILTER (WHERE status = 'processing'),
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND lane IS NOT NULL)), 0)
  FROM process.jobs
 WHERE lane IS NOT NULL OR parked IS NOT NULL -- queued or processing
 GROUP BY tenant_id, job_type
ON CONFLICT DO NOTHING
"""
FORGET: LiteralString = "DELETE FROM process.job_samples WHERE sampled_at < now() - interval '1 day'"
MEASURE: LiteralString = """
-- What ended in the last hour, what has waited longest, what has died within a week.
SELECT tenant_id, job_type::text,
       count(*) FILTER (WHERE status = 'done' AND finished_at > now() - interval '1 hour') AS done,
       count(*) FILTER (WHERE status = 'failed' AND finished_at > now() - interval '1 hour') AS failed,
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND lane IS NOT NULL)), 0)
         ::float AS oldest_s,
       count(*) FILTER (WHERE status = 'failed') AS dead
  FROM process.jobs
 WHERE (lane IS NOT NULL OR parked IS NOT NULL) -- queued or processing
    OR (dead AND finished_at > now() - interval '7 days')
    OR finished_at > now() - interval '1 hour'
 GROUP BY tenant_id, job_type
"""
_COLUMNS: LiteralString = "tenant_id, kind, job_type, raised, value, threshold, changed_at, revision, told, tries"
KNOWN: LiteralString = f"SELECT {_COLUMNS} FROM process.job_alerts WHERE raised"
UNTOLD: LiteralString = f"""
SELECT {_COLUMNS} FROM process.job_alerts WHERE NOT told AND tries < %(most)s ORDER BY changed_at LIMIT 100
"""
RECORD: LiteralString = f"""
INSERT INTO process.job_alerts AS a (tenant_id, kind, job_type, raised, value, threshold)
VALUES (%(tenant_id)s, %(kind)s, %(job_type)s, %(raised)s, %(value)s, %(threshold)s)
ON CONFLICT (tenant_id, kind, job_type) DO UPDATE
   SET raised = excluded.raised, value = excluded.value, threshold = excluded.threshold, changed_at = now(),
       revision = a.revision + 1, told = false, tries = 0
RETURNING {_COLUMNS}
"""
TOLD: LiteralString = """
-- Only if it is still what was told: it may have changed meanwhile.
UPDATE process.job_alerts SET told = %(told)s, tries = tries + 1
 WHERE tenant_id = %(tenant_id)s AND kind = %(kind)s AND job_type = %(job_type)s AND revision = %(revision)s
"""


class AlertStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def sample(self) -> None:
        await self._connection.execute(SAMPLE)
        await self._connection.execute(FORGET)

    async def measure(self) -> Sequence[Measured]:
        return await fetch_all(self._connection, Measured, MEASURE)

    async def raised(self) -> Sequence[Alert]:
        return await fetch_all(self._connection, Alert, KNOWN)

    async def untold(self, most_tries: int) -> Sequence[Alert]:
        return await fetch_all(self._connection, Alert, UNTOLD, most=most_tries)

    async def record(self, finding: Finding) -> Alert:
        values = {
            "tenant_id": finding.tenant_id,
            "kind": finding.kind,
            "job_type": finding.job_type,
            "raised": finding.raised,
            "value": finding.value,
            "threshold": finding.threshold,
        }
        recorded = await fetch_one(self._connection, Alert, RECORD, **values)
        assert recorded  # noqa: S101  an upsert returns its row
        return recorded

    async def told(self, alert: Alert, *, heard: bool) -> None:
        values = {
            "told": heard,
            "tenant_id": alert.tenant_id,
            "kind": alert.kind,
            "job_type": alert.job_type,
            "revision": alert.revision,
        }
        await self._connection.execute(TOLD, values)
