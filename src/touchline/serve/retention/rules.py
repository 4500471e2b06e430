"""How long an artifact is kept, and what a pass of retention finds and reports. Pure.

Invariant: an artifact has one retention, resolved once: what the request asked for, else what its tenant has, else the
installation's default. Registry and artifacts write the same moment down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import ArtifactHash, InvalidInput, TenantId, format_duration

SHORTEST, LONGEST = timedelta(minutes=1), timedelta(days=36_500)


@dataclass(frozen=True, slots=True)
class RetentionSources:
    """Who has a say, the strongest first. None: no opinion."""

    default: timedelta
    requested: timedelta | None = None
    tenant: timedelta | None = None


def resolve_retention(sources: RetentionSources) -> timedelta:
    return sources.requested or sources.tenant or sources.default


def keep_until(finished_at: datetime, sources: RetentionSources) -> datetime:
    """Counted from when there is something to keep: an upload plays, a recording has ended, a clip was asked for."""
    return finished_at + resolve_retention(sources)


def valid_retention(wanted: timedelta | None, field: str = "retention_seconds") -> timedelta | None:
    """What people and programs ask for, before it is written down."""
    if wanted is None or SHORTEST <= wanted <= LONGEST:
        return wanted
    why = f"it is {format_duration(SHORTEST)} to {format_duration(LONGEST)}"
    raise InvalidInput("this retention cannot be used", field=field, why=why)


# Finished, one way or the other: nobody works on it, records or sends it any more. The partial index artifacts_expiry
# names the same ones.
EXPIRING = frozenset(
    {ArtifactStatus.READY, ArtifactStatus.FAILED, ArtifactStatus.COMPLETED, ArtifactStatus.COMPLETED_PARTIAL}
)


def is_expired(status: ArtifactStatus, retention_until: datetime | None, now: datetime, *, pinned: bool) -> bool:
    """Whether retention deletes it. Running uploads and recordings are none of its business, nor is what is pinned."""
    return status in EXPIRING and not pinned and retention_until is not None and retention_until <= now


class Stage(StrEnum):
    """The steps by which an artifact goes, and why it takes each."""

    EXPIRE = "its retention has ended"
    FAIL = "its processing has reported nothing for too long"
    PURGE_DUE = "the time to undelete it is over"
    PURGE = "it was deleted for good, and nothing uses it any more"
    FORGET_DUE = "its audit period is over"
    FORGET = "nothing of it is kept any more"


FREES_BYTES = frozenset({Stage.PURGE})


@dataclass(frozen=True, slots=True)
class Candidate:
    """An artifact that a step is due for."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    artifact_type: str
    size_bytes: int  # of its original
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Purge(Candidate):
    original_key: str
    watched_key: str | None  # where watch has it, too
    awaiting: Sequence[str]  # the planes that still hold something


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one step did, or would do."""

    stage: Stage
    artifacts: Sequence[Candidate]
    limited: bool = False  # there was more than one interval allows
    failed: Sequence[str] = ()  # whose bytes could not be deleted


@dataclass(frozen=True, slots=True)
class RetentionTotal:
    stage: Stage
    tenant_id: TenantId
    artifacts: int
    freed_bytes: int


@dataclass(frozen=True, slots=True)
class RetentionReport:
    stages: Sequence[StageReport] = field(default_factory=tuple[StageReport, ...])

    @property
    def limited(self) -> bool:
        return any(stage.limited for stage in self.stages)

    @property
    def failed(self) -> list[str]:
        return [artifact for stage in self.stages for artifact in stage.failed]

    @property
    def totals(self) -> list[RetentionTotal]:
        """By step and tenant."""
        return [total for stage in self.stages for total in _totals(stage.stage, stage.artifacts)]


def _totals(stage: Stage, artifacts: Iterable[Candidate]) -> Iterable[RetentionTotal]:
    counts: dict[TenantId, tuple[int, int]] = {}
    for artifact in artifacts:
        count, size_bytes = counts.get(artifact.tenant_id, (0, 0))
        counts[artifact.tenant_id] = count + 1, size_bytes + artifact.size_bytes
    for tenant_id, (count, size_bytes) in sorted(counts.items()):
        yield RetentionTotal(stage, tenant_id, count, size_bytes if stage in FREES_BYTES else 0)
