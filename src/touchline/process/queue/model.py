"""Jobs: what they are, what state they are in, and how they fail.

Invariant: (job, attempt) is one claim; what it writes is refused once another claim was made or its lease is over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from touchline.kernel import TenantId

NO_TENANT = TenantId(UUID(int=0))
"""For the functions that find out whose job it is."""


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
    """The last failure of a job, as it is kept beside its payload."""

    type: str
    message: str
    timestamp: datetime
    retry_count: int


@dataclass(slots=True)  # not frozen: that takes five times as long to make, and jobs come by the hundred
class Job:
    tenant_id: TenantId
    id: UUID
    video_id: UUID
    job_type: JobType
    status: JobStatus
    payload: Mapping[str, Any]  # always the original one
    error: JobError | None
    priority: int
    run_at: datetime
    attempt: int
    retry_count: int
    max_retries: int
    locked_by: str | None
    locked_until: datetime | None
    progress_percent: int | None
    result: Mapping[str, Any] | None
    trace: str | None
    depends_on: UUID | None  # not before that one is done
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    revision: int
    unreadable: str | None = None  # why what stands in its row is no job: it has no payload then


LOWEST_PRIORITY, HIGHEST_PRIORITY = -100, 100


@dataclass(frozen=True, slots=True)
class Order:
    """When a job is to run: higher priorities first, not before its time, not before its parent is done."""

    priority: int = 0
    run_at: datetime | None = None
    depends_on: UUID | None = None


@dataclass(slots=True)
class Done:
    """A completion that changes nothing but the job itself."""

    job: Job
    result: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dead:
    """Workers that are known to have ended, and jobs that could not be taken from them."""

    workers: Collection[str] = ()
    passed_over: Collection[UUID] = ()


NOBODY = Dead()


@dataclass(frozen=True, slots=True)
class Failure:
    type: str
    message: str
    retryable: bool
