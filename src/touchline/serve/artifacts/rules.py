"""Which states an artifact may leave for which, and what is told about it. Pure."""

from __future__ import annotations

from touchline.contracts.events.artifacts import ArtifactLifecycle, OriginalStored
from touchline.kernel.errors import Conflict, Defect, NotFound
from touchline.kernel.ids import ArtifactHash

from .model import Artifact, Status

OPEN = (Status.REQUESTED, Status.UPLOADING)  # the sender may still come
UNDER_WAY = (*OPEN, Status.COMPLETING)
LIVING = tuple(status for status in Status if status is not Status.DELETED)
LONGEST_REASON = 1000


def unknown(artifact_hash: ArtifactHash) -> NotFound:
    """The same words for what never was, what is another tenant's, and what was deleted."""
    return NotFound("no such artifact", why=f"{artifact_hash} is not known here")


def gone(artifact_hash: ArtifactHash) -> Conflict:
    """Whoever deleted it may know that it was there."""
    why = f"{artifact_hash} never could be played, is being purged, or was made again meanwhile"
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
