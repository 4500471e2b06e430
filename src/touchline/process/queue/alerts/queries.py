"""What one tenant may see of the watch over the queue: its own samples and its own alerts.

Invariant: behind the tenant's wall. Whether the webhook has heard of an alert is the operator's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_all

MOST_POINTS = 240  # of one type: what a chart can show

SAMPLES: LiteralString = """
-- The highest of each step: a short rush must not vanish between two points.
SELECT job_type, to_timestamp(floor(extract(epoch FROM sampled_at) / %(step_s)s) * %(step_s)s) AS sampled_at,
       max(queued) AS queued, max(processing) AS processing, max(oldest_s) AS oldest_s
  FROM process.job_samples
 WHERE tenant_id = (SELECT platform.current_tenant()) AND sampled_at > now() - %(hours)s * interval '1 hour'
 GROUP BY 1, 2
UNION ALL
SELECT job_type::text, now(),
       count(*) FILTER (WHERE status = 'queued'), count(*) FILTER (WHERE status = 'processing'),
       coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE status = 'queued' AND lane IS NOT NULL)), 0)
  FROM process.jobs
 WHERE tenant_id = (SELECT platform.current_tenant()) AND (lane IS NOT NULL OR parked IS NOT NULL)
 GROUP BY 1
 ORDER BY 1, 2
"""
RAISED: LiteralString = """
SELECT kind, job_type, raised, value, threshold, changed_at, revision
  FROM process.job_alerts
 WHERE tenant_id = (SELECT platform.current_tenant()) AND raised
 ORDER BY changed_at DESC, kind, job_type
"""


@dataclass(frozen=True, slots=True)
class Sample:
    job_type: str
    sampled_at: datetime
    queued: int
    processing: int
    oldest_s: float


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    kind: str
    job_type: str
    raised: bool
    value: float
    threshold: float
    changed_at: datetime
    revision: int


def step_s(hours: int) -> int:
    """Whole minutes, because that is how often is sampled."""
    return -(-hours * 60 // MOST_POINTS) * 60


async def samples(transaction: Transaction, hours: int) -> Sequence[Sample]:
    """By type, then by time; the last of each type is of this moment."""
    return await fetch_all(transaction.connection, Sample, SAMPLES, hours=hours, step_s=step_s(hours))


async def raised_alerts(transaction: Transaction) -> Sequence[RaisedAlert]:
    return await fetch_all(transaction.connection, RaisedAlert, RAISED)
