"""The job queue in GraphQL: list and show jobs, retry, cancel and reprioritise them, and their live events.

Invariant: everything happens inside the caller's tenant; another tenant's job is one that does not exist. Each job is
changed in a transaction of its own, and its history names the e-mail address of who changed it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated, TypeVar
from uuid import UUID

import strawberry
from strawberry.scalars import JSON

from touchline.contracts.events import videos
from touchline.kernel import Role, Scope, artifact_hash, errors, parse_artifact_hash
from touchline.process.queue import jobs, rules
from touchline.process.queue.queries import (
    Cause,
    FailureGroup,
    JobFilter as Wanted,
    JobWindow,
    QueueSample,
    RaisedAlert,
    sample_step_s,
)
from touchline.process.queue.service import apply_to_each, artifact_of_job

from .clips import Clip, find_clip
from .context import Info, RequestContext
from .lifecycle import live_events
from .pages import Connection, PageInput, PageRows, connection, window
from .results import AuthError, ValidationError, as_result
from .serve import Vod, find_vod
from .store import LiveEvent

# --- Types.


@strawberry.type(description="Why the last attempt of a job failed.")
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


@strawberry.type(description="One processing step of a video. docs/explanation/jobs.md explains the rules.")
class Job:
    id: strawberry.ID
    job_type: str = strawberry.field(description="transcode, sample, ocr, segment_index or clip_generate.")
    status: str = strawberry.field(description="queued, processing, done or failed.")
    video_id: strawberry.ID
    artifact_hash: str
    priority: int = strawberry.field(description="Jobs with a higher priority run first.")
    progress_percent: int | None
    eta_seconds: float | None = strawberry.field(
        description="The estimated end, from the progress of this attempt. Null while unknown."
    )
    attempt: int
    retry_count: int
    max_retries: int
    worker: str | None = strawberry.field(description="The worker that runs it.")
    depends_on: strawberry.ID | None
    created_at: datetime
    run_at: datetime = strawberry.field(description="Not before.")
    started_at: datetime | None
    finished_at: datetime | None
    payload: JSON = strawberry.field(description="The payload, as it was enqueued.")
    result: JSON | None
    error: JobError | None = strawberry.field(
        description="The error of the last failed attempt. Running and done jobs can have one, too."
    )
    revision: int
    about: strawberry.Private[str | None]  # the artifact, which may be a clip of the video

    @strawberry.field(
        description="The video that it works on, or cuts a clip of. Null if it was deleted or is a clip itself."
    )
    async def vod(self, info: Info) -> Vod | None:
        return await find_vod(info, parse_artifact_hash(self.artifact_hash))

    @strawberry.field(
        description="The clip that it makes or works on. Null if it was deleted, or the job is not for a clip."
    )
    async def clip(self, info: Info) -> Clip | None:
        return None if self.about is None else await find_clip(info, self.about)

    @strawberry.field(description="Oldest first.")
    async def history(self, info: Info) -> list[JobTransition]:
        steps = await info.context.loaders.job_histories.load(self.id)
        return [JobTransition(**asdict(step)) for step in steps]


@strawberry.type(description="Jobs that failed permanently, of one type and with one type of error.")
class JobFailure:
    job_type: str
    error_type: str
    count: int = strawberry.field(description="Counted among the newest 10,000 failed jobs.")
    latest_at: datetime
    latest_job_id: strawberry.ID
    example: str = strawberry.field(description="The message of the latest one.")


@strawberry.type
class JobSample:
    sampled_at: datetime
    queued: int
    processing: int
    oldest_seconds: float = strawberry.field(description="How long the oldest due job has waited.")


@strawberry.type
class JobTypeDepth:
    job_type: str
    samples: list[JobSample]


@strawberry.type(
    description="A step without a sample: no job waited and none ran. The last sample is the current state."
)
class JobDepth:
    since: datetime
    until: datetime
    step_seconds: int
    types: list[JobTypeDepth]


@strawberry.type(description="A figure of the tenant's queue that exceeds its threshold.")
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
    after: str | None = strawberry.field(
        default=None, description="`next` of the last result, to continue with the same cause."
    )


@strawberry.type
class JobRefusal:
    id: strawberry.ID
    code: str
    message: str
    hint: str


@strawberry.type(description="Which jobs were changed, and which could not be.")
class JobActs:
    jobs: list[Job]
    refused: list[JobRefusal]
    next: str | None = strawberry.field(description="More jobs have this cause: continue after this id.")


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


def refusal_of(job_id: object, error: errors.TouchlineError) -> JobRefusal:
    return JobRefusal(id=strawberry.ID(str(job_id)), code=error.code, message=str(error), hint=error.hint)


# --- Actions on jobs: at most `MOST_AT_ONCE` in one request.

JOBS = "jobs"
MOST_AT_ONCE = 200
LONGEST_TEXT = 200
# Higher ones go before the jobs of all tenants.
HIGHEST_FOR_TENANTS = 0
Choice = TypeVar("Choice", jobs.JobType, jobs.JobStatus)
Act = Callable[[UUID], Awaitable[jobs.Job]]
Selected = tuple[Sequence[UUID], Mapping[str, errors.TouchlineError], str | None]


async def retry(context: RequestContext, selection: JobSelection, reason: str) -> JobActs:
    why, actor = line(reason, "reason"), await _actor(context)
    administration, caller = context.composition.sources.administration, context.principal
    return await _act(context, selection, lambda job: administration.retry(caller, job, actor, why), dead=True)


async def cancel(context: RequestContext, selection: JobSelection, reason: str) -> JobActs:
    why, actor = line(reason, "reason"), await _actor(context)
    administration, caller = context.composition.sources.administration, context.principal
    return await _act(context, selection, lambda job: administration.cancel(caller, job, actor, why), dead=False)


async def reprioritise(context: RequestContext, selection: JobSelection, priority: int) -> JobActs:
    actor = await _actor(context)
    administration, caller = context.composition.sources.administration, context.principal
    require_priority(caller.role, priority)
    return await _act(
        context, selection, lambda job: administration.reprioritise(caller, job, actor, priority), dead=False
    )


def require_priority(role: Role, priority: int) -> None:
    """A tenant orders its own jobs; it does not push those of others back."""
    if not jobs.LOWEST_PRIORITY <= priority <= jobs.HIGHEST_PRIORITY:
        why = f"it must be between {jobs.LOWEST_PRIORITY} and {jobs.HIGHEST_PRIORITY}"
        raise errors.InvalidInput("not a priority", field="priority", why=why)
    if priority > HIGHEST_FOR_TENANTS and not role.includes(Role.OPERATOR):
        hint = f"Use {HIGHEST_FOR_TENANTS} or less; lower values for jobs that can wait."
        raise errors.Forbidden(
            "only operators may set this priority", why="such jobs run before those of all tenants", hint=hint
        )


async def _actor(context: RequestContext) -> str:
    """Who acts, as the history names them."""
    context.principal.require(Scope.WRITE)
    user, _ = await context.composition.auth.sessions.describe(context.principal)
    return user.email


async def _act(context: RequestContext, selection: JobSelection, act: Act, *, dead: bool) -> JobActs:
    ids, unknown, more = await _selected(context, selection, dead=dead)
    outcome = await apply_to_each(ids, act)
    context.changed()
    refused = [*outcome.refused.items(), *unknown.items()]
    return JobActs(
        jobs=[job_of(job) for job in outcome.changed],
        refused=[refusal_of(job_id, error) for job_id, error in refused],
        next=more,
    )


async def _selected(context: RequestContext, selection: JobSelection, *, dead: bool) -> Selected:
    """The jobs, what cannot be the id of any, and where to go on."""
    if (selection.ids is None) == (selection.cause is None):
        raise errors.InvalidInput("invalid selection of jobs", field="selection", why="give either `ids` or `cause`")
    if selection.cause is not None:
        return await _of_cause(context, selection.cause, selection.after, dead=dead)
    given = selection.ids or []
    if len(given) > MOST_AT_ONCE:
        raise errors.InvalidInput("too many jobs at once", field="selection.ids", why=f"the limit is {MOST_AT_ONCE}")
    parsed = {text: job_id(text) for text in given}
    unknown: dict[str, errors.TouchlineError] = {
        text: errors.NotFound(f"there is no job {text}") for text, id_ in parsed.items() if not id_
    }
    return [id_ for id_ in parsed.values() if id_], unknown, None


async def _of_cause(context: RequestContext, given: JobCause, after: str | None, *, dead: bool) -> Selected:
    error_type = line(given.error_type, "selection.cause.error_type")
    cause = Cause(choice(jobs.JobType, given.job_type, "selection.cause.job_type"), error_type)
    cursor = context.cursor(f"{JOBS} {cause.job_type} {cause.error_type}")
    since = place(None if after is None else cursor.open(after, "selection.after"))
    reads = context.composition.sources.jobs
    found = await reads.job_ids_of_cause(context.principal, cause, MOST_AT_ONCE + 1, since, dead=dead)
    ids = found[:MOST_AT_ONCE]
    return ids, {}, cursor.seal(ids[-1].bytes) if len(found) > MOST_AT_ONCE else None


def choice(kind: type[Choice], text: str, field: str) -> Choice:
    try:
        return kind(text)
    except ValueError as error:
        raise errors.InvalidInput(
            "not a valid value", field=field, why=f"it must be one of {', '.join(kind)}"
        ) from error


def line(text: str, field: str) -> str:
    if len(text) > LONGEST_TEXT or not (text == "" or text.isprintable()):
        raise errors.InvalidInput(
            "not valid text", field=field, why=f"it must be one line of at most {LONGEST_TEXT} characters"
        )
    return text


def job_id(text: str) -> UUID | None:
    """None for what cannot be an id."""
    try:
        return UUID(text)
    except ValueError:
        return None


def place(sealed: bytes | None) -> UUID | None:
    return None if sealed is None else UUID(bytes=sealed)


# --- Queries and mutations.

MOST_HOURS = 24  # samples are kept for a day


@strawberry.type
class JobQueries:
    @strawberry.field
    async def job(self, info: Info, id: strawberry.ID) -> Job | None:  # noqa: A002  its name in the schema
        context = info.context
        context.principal.require(Scope.READ)
        wanted = job_id(id)
        found = await context.composition.sources.jobs.job(context.principal, wanted) if wanted else None
        return job_of(*found) if found else None

    @strawberry.field(description="Newest first. `totalCount` counts up to 10,000.")
    async def jobs_connection(
        self,
        info: Info,
        page: PageInput | None = None,
        filter: JobFilter | None = None,  # noqa: A002  its name in the schema
    ) -> Connection[Job]:
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(JOBS)
        asked = window(page, cursor)
        places = {"after": place(asked.after), "before": place(asked.before)}
        found, now = await context.composition.sources.jobs.page(
            context.principal,
            _wanted(filter or JobFilter()),
            JobWindow(asked.size, from_the_end=asked.from_the_end, **places),
        )
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = PageRows(found.jobs, has_next, has_previous, found.total_count)
        return connection(rows, [job_of(job, now) for job in found.jobs], lambda job: job.id.bytes, cursor)

    @strawberry.field(description="Permanently failed jobs by cause, largest groups first.")
    async def job_failures(self, info: Info) -> list[JobFailure]:
        context = info.context
        context.principal.require(Scope.READ)
        return [failure_of(group) for group in await context.composition.sources.jobs.failures(context.principal)]

    @strawberry.field(description="How many jobs waited and ran, and for how long, over the last hours.")
    async def job_depth(self, info: Info, hours: int = MOST_HOURS) -> JobDepth:
        context = info.context
        context.principal.require(Scope.READ)
        if not 1 <= hours <= MOST_HOURS:
            raise errors.InvalidInput(
                "invalid number of hours", field="hours", why=f"it must be between 1 and {MOST_HOURS}"
            )
        samples, now = await context.composition.sources.jobs.samples(context.principal, hours)
        return depth_of(samples, hours, now)

    @strawberry.field(description="The figures that exceed their thresholds now.")
    async def job_alerts(self, info: Info) -> list[JobAlert]:
        context = info.context
        context.principal.require(Scope.READ)
        return [alert_of(alert) for alert in await context.composition.sources.jobs.alerts(context.principal)]


@strawberry.type
class JobMutations:
    @strawberry.mutation(description="Starts permanently failed jobs again, with all retries.")
    async def retry_jobs(self, info: Info, selection: JobSelection, reason: str | None = None) -> JobActsResult:
        return await as_result(JobActsResult, retry(info.context, selection, reason or ""))

    @strawberry.mutation(description="Cancels waiting and running jobs permanently; jobs that depend on them fail.")
    async def cancel_jobs(self, info: Info, selection: JobSelection, reason: str | None = None) -> JobActsResult:
        return await as_result(JobActsResult, cancel(info.context, selection, reason or ""))

    @strawberry.mutation(
        description="Sets the priority of jobs, from -100 to 0. Operators may set up to "
        "100: such jobs run before those of all tenants."
    )
    async def reprioritise_jobs(self, info: Info, selection: JobSelection, priority: int) -> JobActsResult:
        return await as_result(JobActsResult, reprioritise(info.context, selection, priority))


def _wanted(given: JobFilter) -> Wanted:
    video = None if given.video_id is None else job_id(given.video_id)
    if given.video_id is not None and video is None:
        raise errors.InvalidInput("not a valid video id", field="filter.video_id", why="it is not a UUID")
    return Wanted(
        status=None if given.status is None else choice(jobs.JobStatus, given.status, "filter.status"),
        job_type=None if given.job_type is None else choice(jobs.JobType, given.job_type, "filter.job_type"),
        video_id=video,
        cause=None if given.error_type is None else line(given.error_type, "filter.error_type"),
    )


# --- Live events: every change, progress, and alerts that are raised and cleared.

CHANGED, PROGRESSED, ALERT = (kind.event_type for kind in (videos.JobChanged, videos.VideoProgressed, videos.JobAlert))
JOB_EVENT_TYPES = frozenset({CHANGED, PROGRESSED, ALERT})


@strawberry.type
class JobChange:
    job_id: strawberry.ID
    job_type: str
    artifact_hash: str
    status: str
    attempt: int
    progress_percent: int | None
    retry_count: int | None = strawberry.field(
        description="Null in progress reports, like everything that did not change."
    )
    priority: int | None
    error_type: str | None
    error_message: str | None
    revision: int | None


@strawberry.type(description="Exactly one of the two fields must be set.")
class JobEvent:
    cursor: str
    occurred_at: datetime
    job: JobChange | None
    alert: JobAlert | None


@strawberry.type
class JobSubscriptions:
    @strawberry.subscription(
        description="What happens to jobs, in order. `cursor` is the position in the log: subscribe again with `after` "
        "to miss nothing. Without `after`, events start when the connection is opened."
    )
    async def live_jobs(self, info: Info, after: str | None = None) -> AsyncGenerator[JobEvent]:
        async for event, cursor in live_events(info, JOB_EVENT_TYPES, after):
            yield job_event_of(event, cursor)


def job_event_of(event: LiveEvent, cursor: str) -> JobEvent:
    return JobEvent(
        cursor=cursor,
        occurred_at=event.occurred_at,
        job=None if event.type == ALERT else _change(event),
        alert=_alert(event) if event.type == ALERT else None,
    )


def _change(event: LiveEvent) -> JobChange:
    data, changed = event.data, event.type == CHANGED
    return JobChange(
        job_id=strawberry.ID(data["job_id"]),
        job_type=data["job_type"],
        artifact_hash=artifact_hash(UUID(data["video_id"])) if changed else data["artifact_hash"],
        status=data["status"] if changed else jobs.JobStatus.PROCESSING,
        attempt=data["attempt"],
        progress_percent=data.get("progress_percent"),
        retry_count=data.get("retry_count"),
        priority=data.get("priority"),
        error_type=data.get("error_type"),
        error_message=data.get("error_message"),
        # Progress raises the video's revision, which says nothing about the job's.
        revision=event.revision if changed else None,
    )


def _alert(event: LiveEvent) -> JobAlert:
    fields = ("kind", "job_type", "raised", "value", "threshold")
    return JobAlert(
        **{name: event.data[name] for name in fields}, changed_at=event.occurred_at, revision=event.revision
    )
