"""Metrics of the job queue. Depth and age are of the whole queue (of a long one as it was in the last minute), the rest
is of this process.
"""

from __future__ import annotations

from functools import cache

from prometheus_client import Counter, Gauge, Histogram

DEPTH = Gauge("touchline_jobs_depth", "Jobs in the queue now.", ["job_type", "status"])
AGE = Gauge("touchline_jobs_age_seconds", "How long the job that is due for longest has waited.", ["job_type"])
DURATION = Histogram(
    "touchline_job_duration_seconds",
    "How long one run of a job took.",
    ["job_type", "outcome"],
    buckets=(0.1, 0.3, 1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800),
)
RETRIES = Counter("touchline_job_retries", "Runs that failed and will be tried again.", ["job_type"])
ALERTS = Gauge("touchline_job_alerts", "Alerts that are raised now, of all tenants.", ["kind", "job_type"])
FAILURES = Counter("touchline_job_failures", "Jobs that failed for good.", ["job_type"])


@cache
def duration(job_type: str, outcome: str) -> Histogram:
    """Looking a label up costs more than counting."""
    return DURATION.labels(job_type, outcome)
