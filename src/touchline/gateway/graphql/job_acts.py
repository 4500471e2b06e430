"""The hand on jobs: which ones are meant, who acts, and what came of it.

Invariant: each job is changed in a transaction of its own; every act is in its history with the e-mail address of who
did it. At most `MOST_AT_ONCE` in one request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from uuid import UUID

from touchline.kernel import Role, Scope, TouchlineError
from touchline.kernel.errors import Forbidden, InvalidInput, NotFound
from touchline.process.queue import jobs
from touchline.process.queue.queries import Cause
from touchline.process.queue.service import apply_to_each

from .context import Context
from .job_types import JobActs, JobCause, JobSelection, job_of, refusal_of

JOBS = "jobs"
MOST_AT_ONCE = 200
LONGEST_TEXT = 200
# Higher ones go before the jobs of all tenants.
HIGHEST_FOR_TENANTS = 0

Choice = TypeVar("Choice", jobs.JobType, jobs.JobStatus)
Act = Callable[[UUID], Awaitable[jobs.Job]]
Selected = tuple[Sequence[UUID], Mapping[str, TouchlineError], str | None]


async def retry(context: Context, selection: JobSelection, reason: str) -> JobActs:
    why, actor = line(reason, "reason"), await _actor(context)
    hand, caller = context.parts.sources.administration, context.principal
    return await _act(context, selection, lambda job: hand.retry(caller, job, actor, why), dead=True)


async def cancel(context: Context, selection: JobSelection, reason: str) -> JobActs:
    why, actor = line(reason, "reason"), await _actor(context)
    hand, caller = context.parts.sources.administration, context.principal
    return await _act(context, selection, lambda job: hand.cancel(caller, job, actor, why), dead=False)


async def reprioritise(context: Context, selection: JobSelection, priority: int) -> JobActs:
    actor = await _actor(context)
    hand, caller = context.parts.sources.administration, context.principal
    require_priority(caller.role, priority)
    return await _act(context, selection, lambda job: hand.reprioritise(caller, job, actor, priority), dead=False)


def require_priority(role: Role, priority: int) -> None:
    """A tenant orders its own jobs; it does not push those of others back."""
    if not jobs.LOWEST_PRIORITY <= priority <= jobs.HIGHEST_PRIORITY:
        why = f"it is between {jobs.LOWEST_PRIORITY} and {jobs.HIGHEST_PRIORITY}"
        raise InvalidInput("not a priority", field="priority", why=why)
    if priority > HIGHEST_FOR_TENANTS and not role.includes(Role.OPERATOR):
        hint = f"Use {HIGHEST_FOR_TENANTS} or less, and lower for what may wait."
        raise Forbidden("this priority is for operators", why="it goes before the jobs of all tenants", hint=hint)


async def _actor(context: Context) -> str:
    """Who acts, as the history names them."""
    context.principal.require(Scope.WRITE)
    user, _ = await context.parts.auth.sessions.describe(context.principal)
    return user.email


async def _act(context: Context, selection: JobSelection, act: Act, *, dead: bool) -> JobActs:
    ids, unknown, more = await _selected(context, selection, dead=dead)
    outcome = await apply_to_each(ids, act)
    context.changed()
    refused = [*outcome.refused.items(), *unknown.items()]
    return JobActs(
        jobs=[job_of(job) for job in outcome.changed],
        refused=[refusal_of(job_id, error) for job_id, error in refused],
        next=more,
    )


async def _selected(context: Context, selection: JobSelection, *, dead: bool) -> Selected:
    """The jobs, what cannot be the id of any, and where to go on."""
    if (selection.ids is None) == (selection.cause is None):
        raise InvalidInput("not a selection", field="selection", why="it has `ids` or a `cause`, and not both")
    if selection.cause is not None:
        return await _of_cause(context, selection.cause, selection.after, dead=dead)
    given = selection.ids or []
    if len(given) > MOST_AT_ONCE:
        raise InvalidInput("too many jobs at once", field="selection.ids", why=f"at most {MOST_AT_ONCE}")
    parsed = {text: job_id(text) for text in given}
    unknown: dict[str, TouchlineError] = {
        text: NotFound(f"there is no job {text}") for text, id_ in parsed.items() if not id_
    }
    return [id_ for id_ in parsed.values() if id_], unknown, None


async def _of_cause(context: Context, given: JobCause, after: str | None, *, dead: bool) -> Selected:
    error_type = line(given.error_type, "selection.cause.error_type")
    cause = Cause(choice(jobs.JobType, given.job_type, "selection.cause.job_type"), error_type)
    cursor = context.cursor(f"{JOBS} {cause.job_type} {cause.error_type}")
    since = place(None if after is None else cursor.open(after, "selection.after"))
    reads = context.parts.sources.jobs
    found = await reads.job_ids_of_cause(context.principal, cause, MOST_AT_ONCE + 1, since, dead=dead)
    ids = found[:MOST_AT_ONCE]
    return ids, {}, cursor.seal(ids[-1].bytes) if len(found) > MOST_AT_ONCE else None


def choice(kind: type[Choice], text: str, field: str) -> Choice:
    try:
        return kind(text)
    except ValueError as error:
        raise InvalidInput("not one of them", field=field, why=f"it is one of {', '.join(kind)}") from error


def line(text: str, field: str) -> str:
    if len(text) > LONGEST_TEXT or not (text == "" or text.isprintable()):
        raise InvalidInput("not a text", field=field, why=f"one line of at most {LONGEST_TEXT} characters")
    return text


def job_id(text: str) -> UUID | None:
    """None for what cannot be an id."""
    try:
        return UUID(text)
    except ValueError:
        return None


def place(sealed: bytes | None) -> UUID | None:
    return None if sealed is None else UUID(bytes=sealed)
