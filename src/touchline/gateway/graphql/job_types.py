"""The job queue as GraphQL shows it: jobs, their history, what has failed, depth and age over time, alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated

import strawberry
from strawberry.scalars import JSON

from touchline.kernel import TouchlineError
from touchline.kernel.ids import artifact_hash, parse_artifact_hash
from touchline.process.queue import jobs, rules
from touchline.process.queue.queries import FailureGroup, QueueSample, RaisedAlert, sample_step_s
from touchline.process.queue.service import artifact_of_job

from .clips import Clip, find_clip
from .context import Info
from .results import AuthError, ValidationError
from .serve import Vod
from .vods import find_vod


@strawberry.type(description="Why a job failed the last time.")
class JobError:
    type: str
    message: str
    timestamp: datetime
    retry_count: int


@strawberry.type(description="One step of a job's history, with who made it and why.")
class JobTransition:
    from_status: str | None
    to_status: str
    attempt: int
    retry_count: int
    actor: str
    reason: str | None
    occurred_at: datetime


@strawberry.type(description="Something that is done to a video. docs/explanation/jobs.md has the rules.")
class Job:
    id: strawberry.ID
    job_type: str = strawberry.field(description="transcode, sample, ocr, segment_index or clip_generate.")
    status: str = strawberry.field(description="queued, processing, done or failed.")
    video_id: strawberry.ID
    artifact_hash: str
    priority: int = strawberry.field(description="Higher ones run first.")
    progress_percent: int | None
    eta_seconds: float | None = strawberry.field(
        description="If it goes on as it did in this attempt. Null while that cannot be known."
    )
    attempt: int
    retry_count: int
    max_retries: int
    worker: str | None = strawberry.field(description="Who has it now.")
    depends_on: strawberry.ID | None
    created_at: datetime
    run_at: datetime = strawberry.field(description="Not before.")
    started_at: datetime | None
    finished_at: datetime | None
    payload: JSON = strawberry.field(description="As it was enqueued, whatever happened since.")
    result: JSON | None
    error: JobError | None = strawberry.field(description="The last one; a job that runs or is done may have one, too.")
    revision: int
    about: strawberry.Private[str | None]  # the artifact, which may be a clip of the video

    @strawberry.field(
        description="The video that it works on, also for a job that cuts a clip of it. Null when it was deleted, or "
        "is a clip itself."
    )
    async def vod(self, info: Info) -> Vod | None:
        return await find_vod(info, parse_artifact_hash(self.artifact_hash))

    @strawberry.field(description="The clip that it makes or works on. Null when it was deleted, or is no clip.")
    async def clip(self, info: Info) -> Clip | None:
        return None if self.about is None else await find_clip(info, self.about)

    @strawberry.field(description="Oldest first.")
    async def history(self, info: Info) -> list[JobTransition]:
        steps = await info.context.loaders.job_histories.load(self.id)
        return [JobTransition(**asdict(step)) for step in steps]


@strawberry.type(description="Jobs that have failed for good, of one type and by one kind of error.")
class JobFailure:
    job_type: str
    error_type: str
    count: int = strawberry.field(description="Among the newest 10,000 that have failed.")
    latest_at: datetime
    latest_job_id: strawberry.ID
    example: str = strawberry.field(description="What the latest one said.")


@strawberry.type
class JobSample:
    sampled_at: datetime
    queued: int
    processing: int
    oldest_seconds: float = strawberry.field(description="How long the one that is due for longest has waited.")


@strawberry.type
class JobTypeDepth:
    job_type: str
    samples: list[JobSample]


@strawberry.type(
    description="A step without a sample: nothing waited and nothing ran. The last sample is of this moment."
)
class JobDepth:
    since: datetime
    until: datetime
    step_seconds: int
    types: list[JobTypeDepth]


@strawberry.type(description="Something of the tenant's own queue that is beyond its threshold.")
class JobAlert:
    kind: str = strawberry.field(description="failure_rate, queue_age (seconds) or dead_letters.")
    job_type: str
    raised: bool
    value: float
    threshold: float
    changed_at: datetime
    revision: int


@strawberry.input
class JobFilter:
    status: str | None = None
    job_type: str | None = None
    video_id: strawberry.ID | None = None
    error_type: str | None = strawberry.field(default=None, description="Of the last error.")


@strawberry.input(description="What jobFailures groups by.")
class JobCause:
    job_type: str
    error_type: str


@strawberry.input(description="Jobs by their ids, at most 200, or all of one cause.")
class JobSelection:
    ids: list[strawberry.ID] | None = None
    cause: JobCause | None = None
    after: str | None = strawberry.field(default=None, description="`next` of the last answer, to go on with a cause.")


@strawberry.type
class JobRefusal:
    id: strawberry.ID
    code: str
    message: str
    hint: str


@strawberry.type(description="What was done, and what could not be.")
class JobActs:
    jobs: list[Job]
    refused: list[JobRefusal]
    next: str | None = strawberry.field(description="There are more of the cause: go on after this.")


JobActsResult = Annotated[JobActs | ValidationError | AuthError, strawberry.union("JobActsResult")]


def job_of(job: jobs.Job, now: datetime | None = None) -> Job:
    """Without the present time it is not said how long it still takes."""
    return Job(
        id=strawberry.ID(str(job.id)),
        job_type=job.job_type,
        status=job.status,
        video_id=strawberry.ID(str(job.video_id)),
        artifact_hash=artifact_hash(job.video_id),
        priority=job.priority,
        progress_percent=job.progress_percent,
        eta_seconds=_eta(job, now),
        attempt=job.attempt,
        retry_count=job.retry_count,
        max_retries=job.max_retries,
        worker=job.locked_by,
        depends_on=strawberry.ID(str(job.depends_on)) if job.depends_on else None,
        created_at=job.created_at,
        run_at=job.run_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        payload=JSON(job.payload),
        result=JSON(job.result) if job.result is not None else None,
        error=JobError(**asdict(job.error)) if job.error else None,
        revision=job.revision,
        about=artifact_of_job(job),
    )


def _eta(job: jobs.Job, now: datetime | None) -> float | None:
    if now is None or job.status is not jobs.JobStatus.PROCESSING or job.started_at is None:
        return None
    return rules.remaining_s(job.progress_percent, (now - job.started_at).total_seconds())


def failure_of(group: FailureGroup) -> JobFailure:
    return JobFailure(
        job_type=group.job_type,
        error_type=group.error_type,
        count=group.count,
        latest_at=group.latest_at,
        latest_job_id=strawberry.ID(str(group.latest_id)),
        example=group.example,
    )


def depth_of(samples: Sequence[QueueSample], hours: int, now: datetime) -> JobDepth:
    types = [
        JobTypeDepth(job_type=job_type, samples=[_sample(one) for one in of_type])
        for job_type, of_type in groupby(samples, key=lambda sample: sample.job_type)
    ]
    return JobDepth(since=now - timedelta(hours=hours), until=now, step_seconds=sample_step_s(hours), types=types)


def _sample(sample: QueueSample) -> JobSample:
    return JobSample(
        sampled_at=sample.sampled_at,
        queued=sample.queued,
        processing=sample.processing,
        oldest_seconds=sample.oldest_s,
    )


def alert_of(alert: RaisedAlert) -> JobAlert:
    return JobAlert(**asdict(alert))


def refusal_of(job_id: object, error: TouchlineError) -> JobRefusal:
    return JobRefusal(id=strawberry.ID(str(job_id)), code=error.code, message=str(error), hint=error.hint)
