"""What a job is: its type, its state, its payload, and how it failed.

The fields of a payload are a contract with everybody who enqueues, also with psql. Invariants: a payload is
validated when the job is enqueued and again when it is claimed, and unknown fields are refused. (job, attempt)
is one claim; what it writes is refused once the job was claimed again or its lease has expired.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from touchline.kernel import InvalidInput, TenantId
from touchline.platform.objects.rules import object_key

NO_TENANT = TenantId(UUID(int=0))
"""For database functions that work across tenants."""


class JobType(StrEnum):
    TRANSCODE = "transcode"
    SAMPLE = "sample"
    OCR = "ocr"
    SEGMENT_INDEX = "segment_index"
    CLIP_GENERATE = "clip_generate"


class JobStatus(StrEnum):
    QUEUED = "queued"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobError:
    """The last failure of a job, stored beside its payload."""

    type: str
    message: str
    timestamp: datetime
    retry_count: int


@dataclass(slots=True)  # not frozen: creating it would take five times as long, and jobs come by the hundred
class Job:
    tenant_id: TenantId
    id: UUID
    video_id: UUID
    job_type: JobType | str  # of a newer version, whose workers do it
    status: JobStatus
    payload: Mapping[str, Any]  # always the original one
    error: JobError | None
    result: Mapping[str, Any] | None
    priority: int
    run_at: datetime
    attempt: int
    retry_count: int
    max_retries: int
    locked_by: str | None
    locked_until: datetime | None
    progress_percent: int | None
    trace: str | None
    depends_on: UUID | None  # runs only after that job is done
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    revision: int
    unreadable: str | None = None  # why its row cannot be read; the payload is empty then


LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100


@dataclass(frozen=True, slots=True)
class JobSchedule:
    """When a job runs: higher priorities first, not before `run_at`, not before the job that it depends on is done."""

    priority: int = 0
    run_at: datetime | None = None
    depends_on: UUID | None = None


@dataclass(slots=True)
class JobCompletion:
    """Completes a job without any other effects."""

    job: Job
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeadWorkers:
    """Workers that are known to have died, and their jobs that could not be reclaimed."""

    workers: Collection[str] = ()
    excluded: Collection[UUID] = ()


NO_DEAD_WORKERS = DeadWorkers()


@dataclass(frozen=True, slots=True)
class FailureReason:
    type: str
    message: str
    retryable: bool


ORIGINALS = "videos/original"
CLIPS = "videos/clips"


def _checked_key(text: str) -> str:
    try:
        return object_key(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from error


def _checked_text(text: str) -> str:
    """Refuses what the database cannot store."""
    if "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("it has a NUL character or an unpaired surrogate")
    return text


Key = Annotated[str, AfterValidator(_checked_key)]
Text = Annotated[str, AfterValidator(_checked_text), Field(max_length=100)]
Milliseconds = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class JobPayload(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    job_type: ClassVar[JobType]
    video_id: UUID


class OriginalPayload(JobPayload):
    """A job that reads the original of its own video, never that of another."""

    s3_original_path: Key

    @model_validator(mode="after")
    def _own_original(self) -> OriginalPayload:
        path, video = self.s3_original_path, str(self.video_id)
        if path.startswith(f"{ORIGINALS}/{video}/") or (self.is_clip and path.endswith(f"/{video}.mp4")):
            return self
        raise ValueError(f"s3_original_path is neither under {ORIGINALS}/{video}/ nor the file of this clip")

    @property
    def is_clip(self) -> bool:
        """The original of a clip is the file that was cut, stored with the other clips of its source."""
        return self.s3_original_path.startswith(f"{CLIPS}/")


class TranscodePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.TRANSCODE


class SamplePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.SAMPLE
    target_fps: Annotated[float, Field(gt=0, le=240)] = 10
    dedupe_threshold: Share = 0.95


class OcrPayload(JobPayload):
    job_type: ClassVar[JobType] = JobType.OCR
    frame_paths: tuple[Key, ...]
    languages: Annotated[tuple[Text, ...], Field(min_length=1)] = ("eng",)
    min_confidence: Share = 0.6


class SegmentIndexPayload(JobPayload):
    job_type: ClassVar[JobType] = JobType.SEGMENT_INDEX


class ClipGeneratePayload(OriginalPayload):
    job_type: ClassVar[JobType] = JobType.CLIP_GENERATE
    clip_id: UUID
    t_start: Milliseconds
    t_end: Milliseconds
    padding_ms: Milliseconds = 2000

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> ClipGeneratePayload:
        if self.t_end <= self.t_start:
            raise ValueError("t_end must be after t_start")
        return self


PAYLOADS: dict[JobType, type[JobPayload]] = {
    payload.job_type: payload
    for payload in (TranscodePayload, SamplePayload, OcrPayload, SegmentIndexPayload, ClipGeneratePayload)
}


def parse_payload(job_type: JobType | str, document: Mapping[str, Any]) -> JobPayload:
    try:
        return PAYLOADS[JobType(job_type)].model_validate(document)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, e['loc'])) or 'payload'}: {e['msg']}" for e in error.errors(include_url=False))
        raise InvalidInput(f"invalid payload for a {job_type} job", field="payload", why="; ".join(problems)) from error
