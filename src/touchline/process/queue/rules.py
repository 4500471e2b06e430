"""Pure decisions of the queue: which failures are final, which progress is reported, how long a job still takes,
what a worker claims next, and when an alert is raised.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum, StrEnum, auto

import psycopg

from touchline.kernel import TenantId, errors
from touchline.process.settings import AlertSettings

from .jobs import FailureReason, JobType

MAX_MESSAGE_LENGTH = 1000
REPORT_STEP_PERCENT = 5
MIN_REPORT_INTERVAL_S, MAX_REPORT_INTERVAL_S = 0.5, 2.0  # each report is an event that every subscriber gets
ALL_PERCENT = 100
LONG_TYPES = frozenset({JobType.SAMPLE, JobType.OCR})  # they take long, and a video plays without them
MAX_JOBS_PER_SLOT = 4  # as many in hand as there are slots: on a busy machine what stands back does not end for long
PLAYS = frozenset({JobType.TRANSCODE, JobType.CLIP_GENERATE})  # without them nobody sees anything
SHORT_TYPES = frozenset({JobType.CLIP_GENERATE, JobType.SEGMENT_INDEX})  # seconds, whatever the length of the video

# An invalid payload, a missing or unusable original, denied access, a violated constraint: a retry would not help.
# Everything else may be transient, even a bug of ours: after the last retry it becomes a dead letter.
FINAL_ERRORS = (
    errors.InvalidInput,
    errors.NotFound,
    errors.Forbidden,
    errors.Unauthenticated,
    errors.LimitExceeded,
    errors.Misconfigured,
    psycopg.IntegrityError,
)


def failure_of(error: BaseException) -> FailureReason:
    retryable = not isinstance(error, FINAL_ERRORS) or (isinstance(error, errors.TouchlineError) and error.retryable)
    # The database stores neither null characters nor lone surrogates.
    text = str(error).replace("\x00", "").encode("utf-8", "replace").decode()
    message = text.strip() or type(error).__name__
    return FailureReason(type(error).__name__, message[:MAX_MESSAGE_LENGTH], retryable)


def is_worth_reporting(percent: int, reported_percent: int, elapsed_s: float) -> bool:
    """Every five percent, but at most every half second; and every two seconds if there was any progress."""
    interval_s = MIN_REPORT_INTERVAL_S if percent - reported_percent >= REPORT_STEP_PERCENT else MAX_REPORT_INTERVAL_S
    return percent > reported_percent and elapsed_s >= interval_s


def remaining_s(percent: int | None, elapsed_s: float) -> float | None:
    """The time left if this attempt continues at its pace so far; None while that is unknown."""
    if percent is None or percent <= 0 or elapsed_s <= 0:
        return None
    return elapsed_s * (ALL_PERCENT - min(percent, ALL_PERCENT)) / percent


class ProgressStage(Enum):
    """The part of a job's progress that each of its stages covers, in percent: from, to."""

    def percent(self, share: float) -> int:
        start, stop = self.value
        return int(start + (stop - start) * min(max(share, 0.0), 1.0))


class Slot(Enum):
    """Which of a worker's slots a job runs in. There is one of each extra slot."""

    REGULAR = auto()
    SHORT = auto()  # extra, for jobs that take seconds
    OTHER_TENANT = auto()  # extra, for a tenant that has no job in this worker


@dataclass(slots=True)
class HeldJob:
    """A job in hand. Kept with it: each claim looks at all of them."""

    job_type: JobType
    tenant_id: TenantId
    slot: Slot
    is_foreground: bool  # somebody waits for it; OCR, and what follows once a video plays, runs in the background


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """One claim: at most `most` jobs of these types, of any tenant except the excluded ones."""

    slot: Slot
    types: Sequence[JobType]
    most: int
    excluded: frozenset[TenantId] = frozenset()


def next_claims(types: Sequence[JobType], held: Collection[HeldJob], concurrency: int) -> Sequence[ClaimRequest]:
    """The claims to try next, in order, until one of them gets a job.

    Foreground jobs get a slot even if background jobs have all of them, up to `MAX_JOBS_PER_SLOT` jobs per slot. One
    tenant takes the last slot only if no other tenant waits. When all slots are taken, one short job and one job of
    another tenant are let in as well, so that they do not wait for long ones.
    """
    regular = [each for each in held if each.slot is Slot.REGULAR]
    claims = list(_regular_claims(types, regular, concurrency))
    if claims and len(regular) >= concurrency - 1 > 0:
        tenants = frozenset(each.tenant_id for each in regular)
        if len(tenants) == 1:
            claims.insert(0, replace(claims[0], most=1, excluded=tenants))
    elif not claims:
        taken = {each.slot for each in held}
        short = [kind for kind in types if kind in SHORT_TYPES]
        if short and len(short) < len(types) and Slot.SHORT not in taken:
            claims.append(ClaimRequest(Slot.SHORT, short, 1))
        if Slot.OTHER_TENANT not in taken:
            claims.append(ClaimRequest(Slot.OTHER_TENANT, types, 1, frozenset(each.tenant_id for each in held)))
    return claims


def _regular_claims(types: Sequence[JobType], regular: Collection[HeldJob], concurrency: int) -> Iterator[ClaimRequest]:
    at_once = (concurrency + 1) // 2  # the next claim runs while these are worked on and completed
    if LONG_TYPES.issuperset(types):
        free = concurrency - len(regular)
    else:
        free = min(
            concurrency - sum(each.is_foreground for each in regular), MAX_JOBS_PER_SLOT * concurrency - len(regular)
        )
    if free <= 0:
        return
    if LONG_TYPES.isdisjoint(types) or LONG_TYPES.issuperset(types):
        yield ClaimRequest(Slot.REGULAR, types, min(free, at_once))
        return
    reading = sum(each.job_type in LONG_TYPES for each in regular)
    room = min(max(concurrency - 1, 1) - reading, concurrency - len(regular))
    if room > 0:
        yield ClaimRequest(Slot.REGULAR, types, min(free, room, at_once))
    else:
        yield ClaimRequest(Slot.REGULAR, [kind for kind in types if kind not in LONG_TYPES], min(free, at_once))


class AlertKind(StrEnum):
    FAILURE_RATE = "failure_rate"  # of the runs that ended in the last hour
    QUEUE_AGE = "queue_age"  # seconds that the oldest due job has waited
    DEAD_LETTERS = "dead_letters"  # jobs that have failed for good, not older than a week


@dataclass(frozen=True, slots=True)
class QueueMeasurement:
    """One type of job of one tenant."""

    tenant_id: TenantId
    job_type: str
    done: int
    failed: int
    oldest_s: float
    dead: int


@dataclass(frozen=True, slots=True)
class AlertCheck:
    tenant_id: TenantId
    job_type: str
    kind: AlertKind
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
    reported: bool
    tries: int


MAX_DELIVERY_ATTEMPTS = 10

KnownAlerts = Mapping[tuple[TenantId, str, str], Alert]


def check_thresholds(measured: QueueMeasurement, settings: AlertSettings) -> list[AlertCheck]:
    ended = measured.done + measured.failed
    rate = measured.failed / ended if ended >= settings.failure_minimum else 0.0
    values = {
        AlertKind.FAILURE_RATE: (rate, settings.failure_rate),
        AlertKind.QUEUE_AGE: (measured.oldest_s, settings.queue_age.total_seconds()),
        AlertKind.DEAD_LETTERS: (float(measured.dead), float(settings.dead_letters)),
    }
    return [AlertCheck(measured.tenant_id, measured.job_type, kind, *pair) for kind, pair in values.items()]


def changed_alerts(findings: Iterable[AlertCheck], known: KnownAlerts) -> list[AlertCheck]:
    """Alerts that were raised or cleared since: each is announced when it starts and when it ends, not every minute."""
    found: list[AlertCheck] = []
    for finding in findings:
        before = known.get((finding.tenant_id, finding.kind, finding.job_type))
        if finding.raised != (before is not None and before.raised):
            found.append(finding)
    return found


def alerts_without_jobs(findings: Iterable[AlertCheck], known: KnownAlerts) -> list[AlertCheck]:
    """Raised alerts about tenants and types that have no jobs any more: they are cleared."""
    seen = {(finding.tenant_id, finding.kind, finding.job_type) for finding in findings}
    return [
        AlertCheck(alert.tenant_id, alert.job_type, AlertKind(alert.kind), 0.0, alert.threshold)
        for key, alert in known.items()
        if alert.raised and key not in seen
    ]


def webhook_signature(secret: str, timestamp: int, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()
