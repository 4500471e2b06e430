"""`touchline jobs`: what waits, runs and has failed, and the hand on single jobs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from touchline.kernel import NotFound

from .command import AsJson, as_id, progress, show, show_json, show_table, with_database

if TYPE_CHECKING:
    from touchline.kernel import TenantId
    from touchline.platform.postgres.database import Database
    from touchline.process.queue.jobs import Job, JobError
    from touchline.process.queue.queries import Transition
    from touchline.process.queue.service import JobAdministration

commands = typer.Typer(help="List, show, retry and cancel jobs, and change their priority.", no_args_is_help=True)

ACTOR = "cli"
LONGEST_ERROR = 100


class Status(StrEnum):
    QUEUED = "queued"
    PROCESSING = "processing"
    DONE = "done"
    FAILED = "failed"


class Type(StrEnum):
    TRANSCODE = "transcode"
    SAMPLE = "sample"
    OCR = "ocr"
    SEGMENT_INDEX = "segment_index"
    CLIP_GENERATE = "clip_generate"


JobId = Annotated[str, typer.Argument(help="The id of the job.")]


@commands.command(name="list")
def list_jobs(  # noqa: PLR0913, PLR0917  each is an option of the command
    status: Annotated[Status | None, typer.Option("--status", help="Only jobs in this state.")] = None,
    job_type: Annotated[Type | None, typer.Option("--type", help="Only jobs of this type.")] = None,
    video: Annotated[str, typer.Option("--video", help="Only jobs of the video with this id.")] = "",
    cause: Annotated[str, typer.Option("--cause", help="Only jobs whose last error is of this type.")] = "",
    tenant: Annotated[str, typer.Option("--tenant", help="Only jobs of the tenant with this id.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="The maximum number of rows to list.")] = 50,
    after: Annotated[str, typer.Option("--after", help="List the rows after this id.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the jobs of all tenants, newest first."""
    from touchline.process.queue.jobs import JobStatus, JobType
    from touchline.process.queue.queries import JobFilter, JobWindow, list_jobs_of_all_tenants

    wanted = JobFilter(
        status=JobStatus(status) if status else None,
        job_type=JobType(job_type) if job_type else None,
        video_id=as_id(video) if video else None,
        cause=cause or None,
    )
    window = JobWindow(limit, after=as_id(after) if after else None)
    owner = as_id(tenant) if tenant else None
    page = with_database(lambda database, _: list_jobs_of_all_tenants(database, wanted, window, owner))
    if as_json:
        show_json({"jobs": [asdict(job) for job in page.jobs], "more": page.more})
        return
    show_table(["ID", "TYPE", "STATE", "PRIORITY", "RUNS", "CREATED", "LAST ERROR"], [_row(job) for job in page.jobs])
    if page.more:
        progress(f"More rows: --after {page.jobs[-1].id}")


@commands.command(name="show")
def show_job(job_id: JobId, as_json: AsJson = False) -> None:
    """Show one job with its payload, its result and its history."""
    job, history = with_database(lambda database, _: _found(database, as_id(job_id)))
    if as_json:
        show_json({**asdict(job), "history": [asdict(step) for step in history]})
        return
    for name, value in asdict(job).items():
        if value is not None:
            show(f"{name:17} {value}")
    rows = [[f"{s.occurred_at:%F %T}", s.from_status or "-", s.to_status, s.actor, s.reason or "-"] for s in history]
    show("")
    show_table(["WHEN", "FROM", "TO", "BY", "WHY"], rows)


@commands.command()
def retry(job_id: JobId, as_json: AsJson = False) -> None:
    """Start a permanently failed job again, with all retries, and the jobs that failed because of it."""
    _act(job_id, lambda to, tenant, id_: to.retry(tenant, id_, ACTOR), as_json)


@commands.command()
def cancel(job_id: JobId, as_json: AsJson = False) -> None:
    """Cancel a waiting or running job. Its worker stops, and the jobs that depend on it are cancelled too."""
    _act(job_id, lambda to, tenant, id_: to.cancel(tenant, id_, ACTOR), as_json)


@commands.command()
def priority(
    job_id: JobId,
    wanted: Annotated[
        int, typer.Argument(min=-100, max=100, help="From -100 to 100. Jobs with a higher priority run first.")
    ],
    as_json: AsJson = False,
) -> None:
    """Change the priority of a job."""
    _act(job_id, lambda to, tenant, id_: to.reprioritise(tenant, id_, ACTOR, wanted), as_json)


def _act(job_id: str, change: Callable[[JobAdministration, TenantId, UUID], Awaitable[Job]], as_json: bool) -> None:
    from touchline.process.queue.service import JobAdministration

    wanted = as_id(job_id)

    async def work(database: Database) -> Job:
        job, _ = await _found(database, wanted)
        return await change(JobAdministration(database), job.tenant_id, wanted)

    job = with_database(lambda database, _: work(database))
    if as_json:
        show_json(asdict(job))
    else:
        show(f"{job.id}  {job.job_type}  {_state(job)}  priority {job.priority}")


async def _found(database: Database, job_id: UUID) -> tuple[Job, Sequence[Transition]]:
    """Whoever can read the data folder is an operator, and need not know whose job it is."""
    from touchline.process.queue.queries import find_job_of_any_tenant

    if found := await find_job_of_any_tenant(database, job_id):
        return found
    raise NotFound(f"there is no job {job_id}", hint="`touchline jobs list` shows all jobs.")


def _row(job: Job) -> list[str]:
    error = f"{job.error.type}: {job.error.message}"[:LONGEST_ERROR] if job.error else "-"
    return [
        str(job.id),
        job.job_type,
        _state(job),
        str(job.priority),
        str(job.attempt),
        f"{job.created_at:%F %T}",
        error,
    ]


def _was_cancelled(error: JobError) -> bool:
    """Or waited for one that was: the message repeats the error of that one."""
    return error.type == "Cancelled" or (error.type == "ParentFailed" and " Cancelled: " in error.message)


def _state(job: Job) -> str:
    """For people: a job that somebody ended did not fail. Programs find its error beside the status."""
    if job.status == "failed" and job.error and _was_cancelled(job.error):
        return "cancelled"
    return f"{job.status} {job.progress_percent or 0}%" if job.status == "processing" else job.status
