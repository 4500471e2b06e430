"""Which states an artifact may leave for which, and what is told about it. Pure.

Invariant: `ARROWS` is the diagram of docs/explanation/lifecycle.md, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType, OriginalStored
from touchline.kernel.errors import Conflict, Defect, NotFound
from touchline.kernel.ids import ArtifactHash

from .model import Artifact, JobRun, Status

ARROWS: Mapping[Status, frozenset[Status]] = {
    Status.REQUESTED: frozenset(
        {Status.UPLOADING, Status.COMPLETING, Status.ABORTING, Status.PROCESSING, Status.FAILED, Status.DELETED}
    ),
    Status.UPLOADING: frozenset({Status.COMPLETING, Status.ABORTING, Status.DELETED}),
    Status.COMPLETING: frozenset({Status.UPLOADING, Status.PROCESSING, Status.FAILED, Status.DELETED}),
    Status.ABORTING: frozenset({Status.FAILED, Status.DELETED}),
    Status.PROCESSING: frozenset({Status.READY, Status.FAILED, Status.DELETED}),
    Status.READY: frozenset({Status.DELETED}),
    Status.FAILED: frozenset({Status.PROCESSING, Status.READY, Status.DELETED}),
    Status.DELETED: frozenset({Status.READY, Status.FAILED}),  # until it is purged
}

OPEN = (Status.REQUESTED, Status.UPLOADING)  # the sender may still come
UNDER_WAY = (*OPEN, Status.COMPLETING)
LIVING = tuple(status for status in Status if status is not Status.DELETED)
LONGEST_REASON = 1000


class Report(Enum):
    """What processing says about an artifact: each by one run of one job."""

    PROGRESSED = auto()  # a retry says so as well, of the run that is to come: nothing is done of it yet
    CUT = auto()  # of a clip
    PUBLISHED = auto()
    FAILED = auto()


# The states that a report may find. A report that finds another one is late.
FOUND_IN: Mapping[Report, frozenset[Status]] = {
    Report.PROGRESSED: frozenset({Status.REQUESTED, Status.PROCESSING, Status.FAILED}),
    Report.CUT: frozenset({Status.REQUESTED, Status.PROCESSING, Status.FAILED}),
    Report.PUBLISHED: frozenset({Status.PROCESSING, Status.READY, Status.FAILED}),
    Report.FAILED: frozenset({Status.REQUESTED, Status.PROCESSING, Status.FAILED}),
}


def is_news(artifact: Artifact, report: Report, run: JobRun, percent: int = 0) -> bool:
    """Whether a report changes the artifact. What comes late, twice or out of order changes nothing."""
    if not _can_be(artifact, report):
        return False
    if artifact.status is Status.FAILED:
        return run > artifact.run
    match report:
        case Report.PROGRESSED:
            known = -1 if artifact.progress_percent is None else artifact.progress_percent
            return (run, percent) > (artifact.run, known)
        case Report.FAILED:
            return run >= artifact.run
        case Report.PUBLISHED if artifact.status is Status.READY:
            return run.job_id != artifact.run.job_id or run >= artifact.run
        case _:
            return True


def _can_be(artifact: Artifact, report: Report) -> bool:
    """Clips are reported about before they have an original, uploads only afterwards: one without was refused."""
    is_clip = artifact.artifact_type is ArtifactType.CLIP
    if report is Report.CUT and (artifact.synced or not is_clip):
        return False
    return (is_clip or artifact.synced) and artifact.status in FOUND_IN[report]


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such artifact", why=f"{artifact_hash} is not known here")


def gone(artifact_hash: ArtifactHash) -> Conflict:
    """Whoever deleted it may know that it was there."""
    why = f"{artifact_hash} was never finished, is being purged, or was made again meanwhile"
    return Conflict("this cannot be undeleted", why=why, hint="Upload the video, or make the clip, again.")


def existing(artifact: Artifact | None, artifact_hash: ArtifactHash) -> Artifact:
    if artifact is None or artifact.status is Status.DELETED:
        raise unknown(artifact_hash)
    return artifact


def lifecycle(artifact: Artifact) -> ArtifactLifecycle:
    """All that is known at this revision. Copies on nodes are known to be none: nodes hold nothing yet."""
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
        local_copies=0,
    )


def original_stored(artifact: Artifact) -> OriginalStored:
    if artifact.size_bytes is None:
        raise Defect("an original is stored whose size nobody knows", why=artifact.artifact_hash)
    return OriginalStored(
        artifact_hash=artifact.artifact_hash,
        original_key=artifact.original_key,
        size_bytes=artifact.size_bytes,
        content_type=artifact.content_type,
        user_id=artifact.user_id,
    )
