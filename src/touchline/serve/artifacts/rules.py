"""Which states an artifact may leave for which, and what is told about it. Pure.

Invariant: `ARROWS` is the diagram of docs/explanation/lifecycle.md, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from uuid import UUID

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactType,
    OriginalStored,
    StorageTransfer,
    storage_location,
)
from touchline.kernel import ArtifactHash, Conflict, Defect, InternalName, NotFound, TenantId, UserId


@dataclass(frozen=True, slots=True, order=True)
class JobRun:
    """One attempt at one job. Job ids rise with time, so that the runs of an artifact have an order across its jobs."""

    job_id: UUID
    attempt: int


NO_RUN = JobRun(UUID(int=0), 0)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why an artifact failed: a code for programs, words for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class NewArtifact:
    artifact_hash: ArtifactHash
    artifact_type: ArtifactType
    internal_name: InternalName
    user_id: UserId
    original_key: str
    content_type: str
    size_bytes: int | None  # None: not known before it is made
    retention: timedelta  # how long it is kept, as the registry resolved it
    retention_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    artifact_type: ArtifactType
    internal_name: InternalName
    user_id: UserId
    status: ArtifactStatus
    original_key: str
    content_type: str
    size_bytes: int | None  # None: a clip that is not cut yet, or a recording that goes on
    synced: bool
    local_copies: int  # nodes that have it
    transfer: StorageTransfer | None  # its bytes move right now
    run: JobRun  # the latest one that reported
    progress_percent: int | None
    manifest_key: str | None
    poster_key: str | None
    duration_ms: int | None
    width: int | None
    height: int | None
    reason: Reason | None
    created_at: datetime
    started_at: datetime | None  # of a recording
    ended_at: datetime | None
    retention: timedelta
    retention_until: datetime | None
    pinned: bool  # kept until unpinned, whatever its retention
    revision: int


@dataclass(frozen=True, slots=True)
class EndedRecording:
    """What there is of a recording that goes on no more."""

    ended_at: datetime
    size_bytes: int
    duration_ms: int
    is_partial: bool  # the node was lost in the middle of it
    started_at: datetime | None = None  # if it was not noted before
    reason: Reason | None = None  # why it is only a part


@dataclass(frozen=True, slots=True)
class Rendition:
    """What processing made of the original, and which attempt it was."""

    manifest_key: str
    poster_key: str
    duration_ms: int
    width: int
    height: int


ENDED_RECORDING = (ArtifactStatus.COMPLETED, ArtifactStatus.COMPLETED_PARTIAL)
STAYS_PLAYABLE = (ArtifactStatus.READY, *ENDED_RECORDING)  # what comes later only makes it better
COMES_BACK = (ArtifactStatus.READY, ArtifactStatus.FAILED, *ENDED_RECORDING)
ARROWS: Mapping[ArtifactStatus, frozenset[ArtifactStatus]] = {
    ArtifactStatus.REQUESTED: frozenset(
        {
            ArtifactStatus.UPLOADING,
            ArtifactStatus.COMPLETING,
            ArtifactStatus.ABORTING,
            ArtifactStatus.STARTING,
            ArtifactStatus.PROCESSING,
            ArtifactStatus.FAILED,
            ArtifactStatus.DELETED,
        }
    ),
    ArtifactStatus.UPLOADING: frozenset({ArtifactStatus.COMPLETING, ArtifactStatus.ABORTING, ArtifactStatus.DELETED}),
    ArtifactStatus.COMPLETING: frozenset(
        {ArtifactStatus.UPLOADING, ArtifactStatus.PROCESSING, ArtifactStatus.FAILED, ArtifactStatus.DELETED}
    ),
    ArtifactStatus.ABORTING: frozenset({ArtifactStatus.FAILED, ArtifactStatus.DELETED}),
    ArtifactStatus.STARTING: frozenset(
        {ArtifactStatus.RECORDING, ArtifactStatus.STOPPING, ArtifactStatus.FAILED, ArtifactStatus.DELETED}
    ),
    ArtifactStatus.RECORDING: frozenset(
        {
            ArtifactStatus.STOPPING,
            ArtifactStatus.COMPLETED,
            ArtifactStatus.COMPLETED_PARTIAL,
            ArtifactStatus.FAILED,
            ArtifactStatus.DELETED,
        }
    ),
    ArtifactStatus.STOPPING: frozenset(
        {
            ArtifactStatus.COMPLETED,
            ArtifactStatus.COMPLETED_PARTIAL,
            ArtifactStatus.FAILED,
            ArtifactStatus.DELETED,
        }
    ),
    ArtifactStatus.COMPLETED: frozenset({ArtifactStatus.DELETED}),
    ArtifactStatus.COMPLETED_PARTIAL: frozenset({ArtifactStatus.DELETED}),
    ArtifactStatus.PROCESSING: frozenset({ArtifactStatus.READY, ArtifactStatus.FAILED, ArtifactStatus.DELETED}),
    ArtifactStatus.READY: frozenset({ArtifactStatus.DELETED}),
    ArtifactStatus.FAILED: frozenset({ArtifactStatus.PROCESSING, ArtifactStatus.READY, ArtifactStatus.DELETED}),
    ArtifactStatus.DELETED: frozenset(COMES_BACK),  # until it is purged
}

# The periodic task that ends each state when nobody else does.
OWNERS: Mapping[ArtifactStatus, str] = {
    ArtifactStatus.REQUESTED: "end uploads",
    ArtifactStatus.UPLOADING: "end uploads",
    ArtifactStatus.COMPLETING: "end uploads",
    ArtifactStatus.ABORTING: "end uploads",
    ArtifactStatus.STARTING: "end recordings",
    ArtifactStatus.RECORDING: "end recordings",
    ArtifactStatus.STOPPING: "end recordings",
    ArtifactStatus.PROCESSING: "end silent processing",
    ArtifactStatus.READY: "retention",
    ArtifactStatus.FAILED: "retention",
    ArtifactStatus.COMPLETED: "retention",
    ArtifactStatus.COMPLETED_PARTIAL: "retention",
    ArtifactStatus.DELETED: "purge",
}

OPEN = (ArtifactStatus.REQUESTED, ArtifactStatus.UPLOADING)  # the sender may still come
ON_AIR = (ArtifactStatus.STARTING, ArtifactStatus.RECORDING)  # of a recording that nobody has stopped
TAKES_MEDIA = (*ON_AIR, ArtifactStatus.STOPPING)
# What has media to be played: also of a recording that goes on, as soon as they are there.
PLAYABLE = (*STAYS_PLAYABLE, ArtifactStatus.RECORDING, ArtifactStatus.STOPPING)
UNDER_WAY = (*OPEN, ArtifactStatus.COMPLETING)
LIVING = tuple(status for status in ArtifactStatus if status is not ArtifactStatus.DELETED)
LONGEST_REASON = 1000


class Report(Enum):
    """What processing says about an artifact: each by one run of one job."""

    PROGRESSED = auto()  # a retry says so as well, of the run that is to come: nothing is done of it yet
    CUT = auto()  # of a clip
    PUBLISHED = auto()
    FAILED = auto()


# The states that a report may find. A report that finds another one is late.
FOUND_IN: Mapping[Report, frozenset[ArtifactStatus]] = {
    Report.PROGRESSED: frozenset({ArtifactStatus.REQUESTED, ArtifactStatus.PROCESSING, ArtifactStatus.FAILED}),
    Report.CUT: frozenset({ArtifactStatus.REQUESTED, ArtifactStatus.PROCESSING, ArtifactStatus.FAILED}),
    Report.PUBLISHED: frozenset(
        {ArtifactStatus.PROCESSING, ArtifactStatus.READY, ArtifactStatus.FAILED, *ENDED_RECORDING}
    ),
    Report.FAILED: frozenset({ArtifactStatus.REQUESTED, ArtifactStatus.PROCESSING, ArtifactStatus.FAILED}),
}


def is_news(artifact: Artifact, report: Report, run: JobRun, percent: int = 0) -> bool:
    """Whether a report changes the artifact. What comes late, twice or out of order changes nothing."""
    if not _can_be(artifact, report):
        return False
    if artifact.status is ArtifactStatus.FAILED:
        return run > artifact.run
    match report:
        case Report.PROGRESSED:
            known = -1 if artifact.progress_percent is None else artifact.progress_percent
            return (run, percent) > (artifact.run, known)
        case Report.FAILED:
            return run >= artifact.run
        case Report.PUBLISHED if artifact.status in STAYS_PLAYABLE:
            return run.job_id != artifact.run.job_id or run >= artifact.run
        case _:
            return True


def kept_where_it_is(artifact: Artifact, run: JobRun, made: Rendition) -> Rendition:
    """A run tells of its rendition twice, from one folder. If the artifact points elsewhere by then, a freeze has
    stored the rendition anew, perhaps with what the first folder has lost: there it stays."""
    if run != artifact.run or artifact.manifest_key is None:
        return made
    if artifact.manifest_key.rpartition("/")[0] == made.manifest_key.rpartition("/")[0]:
        return made
    return replace(made, manifest_key=artifact.manifest_key, poster_key=artifact.poster_key or made.poster_key)


def _can_be(artifact: Artifact, report: Report) -> bool:
    """Clips are reported about before they have an original, uploads only afterwards: one without was refused. A
    recording has ended and can be played whatever becomes of its processing."""
    if artifact.artifact_type is ArtifactType.DVR:
        return report is Report.PUBLISHED and artifact.status in ENDED_RECORDING
    is_clip = artifact.artifact_type is ArtifactType.CLIP
    if report is Report.CUT and (artifact.synced or not is_clip):
        return False
    return (is_clip or artifact.synced) and artifact.status in FOUND_IN[report]


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such artifact", why=f"{artifact_hash} does not exist")


def gone(artifact_hash: ArtifactHash) -> Conflict:
    """Whoever deleted it may know that it was there."""
    why = f"{artifact_hash} was never finished, is being purged, or was created again"
    return Conflict("this cannot be undeleted", why=why, hint="Upload the video or create the clip again.")


def existing_recording(artifact: Artifact | None, dvr_hash: ArtifactHash) -> Artifact:
    artifact = existing(artifact, dvr_hash)
    if artifact.artifact_type is not ArtifactType.DVR:
        raise unknown(dvr_hash)
    return artifact


def existing(artifact: Artifact | None, artifact_hash: ArtifactHash) -> Artifact:
    if artifact is None or artifact.status is ArtifactStatus.DELETED:
        raise unknown(artifact_hash)
    return artifact


def lifecycle(artifact: Artifact) -> ArtifactLifecycle:
    """All that is known at this revision."""
    return ArtifactLifecycle(
        artifact_hash=artifact.artifact_hash,
        artifact_type=artifact.artifact_type,
        internal_name=artifact.internal_name,
        user_id=artifact.user_id,
        status=artifact.status,
        progress_percent=artifact.progress_percent,
        size_bytes=artifact.size_bytes,
        duration_ms=artifact.duration_ms,
        width=artifact.width,
        height=artifact.height,
        manifest_key=artifact.manifest_key,
        poster_key=artifact.poster_key,
        error_code=artifact.reason.code if artifact.reason else None,
        error_message=artifact.reason.message if artifact.reason else None,
        synced=artifact.synced,
        local_copies=artifact.local_copies,
        storage_location=storage_location(artifact.synced, artifact.local_copies, artifact.transfer),
        started_at=artifact.started_at,
        ended_at=artifact.ended_at,
    )


def original_stored(artifact: Artifact) -> OriginalStored:
    if artifact.size_bytes is None:
        raise Defect("the size of a stored original is unknown", why=artifact.artifact_hash)
    return OriginalStored(
        artifact_hash=artifact.artifact_hash,
        original_key=artifact.original_key,
        size_bytes=artifact.size_bytes,
        content_type=artifact.content_type,
        user_id=artifact.user_id,
    )
