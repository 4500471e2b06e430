"""What is measured of a queue, and what is said about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from touchline.kernel import TenantId


class Kind(StrEnum):
    FAILURE_RATE = "failure_rate"  # of the runs that ended in the last hour
    QUEUE_AGE = "queue_age"  # seconds that the oldest due job has waited
    DEAD_LETTERS = "dead_letters"  # jobs that have failed for good, not older than a week


@dataclass(frozen=True, slots=True)
class Measured:
    """One type of job of one tenant."""

    tenant_id: TenantId
    job_type: str
    done: int
    failed: int
    oldest_s: float
    dead: int


@dataclass(frozen=True, slots=True)
class Finding:
    tenant_id: TenantId
    job_type: str
    kind: Kind
    value: float
    threshold: float

    @property
    def raised(self) -> bool:
        return self.value > self.threshold


@dataclass(frozen=True, slots=True)
class Alert:
    tenant_id: TenantId
    kind: str
    job_type: str
    raised: bool
    value: float
    threshold: float
    changed_at: datetime
    revision: int
    told: bool
    tries: int
