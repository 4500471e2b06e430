"""What people see of the job queue and do with it: list, look, retry, cancel, reprioritise.

Invariant: everything happens inside the caller's tenant; another tenant's job is one that does not exist.
"""

from __future__ import annotations

import strawberry

from touchline.kernel import Scope
from touchline.kernel.errors import InvalidInput
from touchline.process.queue import jobs
from touchline.process.queue.queries import JobFilter as Wanted
from touchline.process.queue.queries import JobWindow

from .context import Info
from .job_acts import JOBS, cancel, choice, job_id, line, place, reprioritise, retry
from .job_types import (
    Job,
    JobActsResult,
    JobAlert,
    JobDepth,
    JobFailure,
    JobFilter,
    JobSelection,
    alert_of,
    depth_of,
    failure_of,
    job_of,
)
from .pages import Connection, PageInput, Rows, connection, window
from .results import answered

MOST_HOURS = 24  # samples are kept for a day


@strawberry.type
class JobQueries:
    @strawberry.field
    async def job(self, info: Info, id: strawberry.ID) -> Job | None:  # noqa: A002  its name in the schema
        context = info.context
        context.principal.require(Scope.READ)
        wanted = job_id(id)
        found = await context.parts.sources.jobs.job(context.principal, wanted) if wanted else None
        return job_of(*found) if found else None

    @strawberry.field(description="Newest first. `totalCount` ends at 10,000.")
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
        found, now = await context.parts.sources.jobs.page(
            context.principal,
            _wanted(filter or JobFilter()),
            JobWindow(asked.size, from_the_end=asked.from_the_end, **places),
        )
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = Rows(found.jobs, has_next, has_previous, found.total_count)
        return connection(rows, [job_of(job, now) for job in found.jobs], lambda job: job.id.bytes, cursor)

    @strawberry.field(description="What has failed for good, by cause: the largest groups first.")
    async def job_failures(self, info: Info) -> list[JobFailure]:
        context = info.context
        context.principal.require(Scope.READ)
        return [failure_of(group) for group in await context.parts.sources.jobs.failures(context.principal)]

    @strawberry.field(description="How many jobs waited and ran, and for how long, over the last hours.")
    async def job_depth(self, info: Info, hours: int = MOST_HOURS) -> JobDepth:
        context = info.context
        context.principal.require(Scope.READ)
        if not 1 <= hours <= MOST_HOURS:
            raise InvalidInput("not a number of hours", field="hours", why=f"it is between 1 and {MOST_HOURS}")
        samples, now = await context.parts.sources.jobs.samples(context.principal, hours)
        return depth_of(samples, hours, now)

    @strawberry.field(description="What is beyond its threshold now.")
    async def job_alerts(self, info: Info) -> list[JobAlert]:
        context = info.context
        context.principal.require(Scope.READ)
        return [alert_of(alert) for alert in await context.parts.sources.jobs.alerts(context.principal)]


@strawberry.type
class JobMutations:
    @strawberry.mutation(description="Starts again what has failed for good, with all its retries.")
    async def retry_jobs(self, info: Info, selection: JobSelection, reason: str | None = None) -> JobActsResult:
        return await answered(JobActsResult, retry(info.context, selection, reason or ""))

    @strawberry.mutation(description="Ends what waits or runs, for good; what waits for it fails with it.")
    async def cancel_jobs(self, info: Info, selection: JobSelection, reason: str | None = None) -> JobActsResult:
        return await answered(JobActsResult, cancel(info.context, selection, reason or ""))

    @strawberry.mutation(
        description="Lets jobs run before or after others: from -100 to 0. Operators may go up to 100, which is before "
        "the jobs of all tenants."
    )
    async def reprioritise_jobs(self, info: Info, selection: JobSelection, priority: int) -> JobActsResult:
        return await answered(JobActsResult, reprioritise(info.context, selection, priority))


def _wanted(given: JobFilter) -> Wanted:
    video = None if given.video_id is None else job_id(given.video_id)
    if given.video_id is not None and video is None:
        raise InvalidInput("not a video's id", field="filter.video_id", why="it is not a UUID")
    return Wanted(
        status=None if given.status is None else choice(jobs.JobStatus, given.status, "filter.status"),
        job_type=None if given.job_type is None else choice(jobs.JobType, given.job_type, "filter.job_type"),
        video_id=video,
        cause=None if given.error_type is None else line(given.error_type, "filter.error_type"),
    )
