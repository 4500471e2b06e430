"""What happens to videos on their way through processing. Written by process, read by serve, measure and the page."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from .envelope import Payload


class VideoPayload(Payload):
    artifact_hash: str
    job_id: UUID
    attempt: int

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class VideoProgressed(VideoPayload):
    event_type: ClassVar[str] = "video.progressed"
    job_type: str
    progress_percent: int


class VideoTranscoded(VideoPayload):
    """A rendition is complete under the attempt's prefix: the video can be played.

    Announced again by the same attempt when all renditions and the storyboard exist.
    """

    event_type: ClassVar[str] = "video.transcoded"
    manifest_key: str
    poster_key: str
    duration_ms: int
    width: int
    height: int
    storyboard_key: str | None = None


class VideoIndexed(VideoPayload):
    """Its text is read: the video can be searched."""

    event_type: ClassVar[str] = "video.indexed"
    segments: int
    entities: int


class VideoFailed(VideoPayload):
    """Final: all retries of this stage are used up, or none would help. What earlier stages made stays."""

    event_type: ClassVar[str] = "video.failed"
    job_type: str
    error_code: str
    error_message: str


class VideoRetried(VideoPayload):
    """Somebody retries a job that had failed for good: what failed with it is processed again.

    `attempt` is the run that is to come: newer than the one that failed.
    """

    event_type: ClassVar[str] = "video.retried"
    job_type: str


class VideoPurged(Payload):
    """Nothing of it is left in this plane: no rows, and no objects but the original, which belongs to serve."""

    event_type: ClassVar[str] = "video.purged"
    artifact_hash: str
    objects: int  # that were deleted

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class JobChanged(Payload):
    event_type: ClassVar[str] = "job.changed"
    job_id: UUID
    job_type: str
    video_id: UUID
    status: str
    attempt: int
    retry_count: int
    progress_percent: int | None = None
    error_type: str | None = None
    error_message: str | None = None
    priority: int | None = None
    actor: str | None = None  # a person who cancelled, retried or reprioritised it, or the part that it reports to

    @property
    def key(self) -> str:
        return f"job:{self.job_id}"


class JobAlert(Payload):
    """A measure of a queue exceeded its threshold, or returned below it."""

    event_type: ClassVar[str] = "job.alert"
    kind: str  # failure_rate, queue_age or dead_letters
    job_type: str
    raised: bool
    value: float
    threshold: float

    @property
    def key(self) -> str:
        return f"job_alert:{self.kind}:{self.job_type}"


# Clips on their way from the registry to processing and back: requested by serve, made or failed by process.


class ClipPayload(Payload):
    artifact_hash: str  # the clip's own

    @property
    def key(self) -> str:
        return f"artifact:{self.artifact_hash}"


class ClipRequested(ClipPayload):
    """A clip is registered: cutting may begin. Times are the source's media time."""

    event_type: ClassVar[str] = "clip.requested"
    source_hash: str
    original_key: str  # of the source
    start_ms: int
    end_ms: int
    padding_ms: int


class ClipMade(ClipPayload):
    """The whole clip is in the object store, with its padding as far as the source has any."""

    event_type: ClassVar[str] = "clip.made"
    job_id: UUID
    attempt: int
    clip_key: str
    size_bytes: int
    cut_start_ms: int  # when its first picture begins in the source
    cut_end_ms: int  # and when its last one ends
    frames: int
    width: int
    height: int


class ClipFailed(ClipPayload):
    """Final: all retries are used up, or none would help."""

    event_type: ClassVar[str] = "clip.failed"
    job_id: UUID | None
    attempt: int
    error_code: str
    error_message: str


PAYLOADS: tuple[type[Payload], ...] = (
    VideoProgressed,
    VideoTranscoded,
    VideoIndexed,
    VideoFailed,
    VideoRetried,
    VideoPurged,
    JobChanged,
    JobAlert,
    ClipRequested,
    ClipMade,
    ClipFailed,
)
