"""What a job type implements (`Handler`) and what it may call while it works: report progress, write before it is
done, and let other jobs go first.

Invariant: a write in the middle of a job is refused with LeaseLost once the job was claimed again or its lease
has expired. While the database is unavailable it is retried; the worker cancels a job that loses its lease.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol, TypeVar

from touchline.kernel import LeaseLost
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.retry import retry_transient

from .jobs import Job, JobPayload
from .service import Effects
from .store import JobStore

ReportProgress = Callable[[int], None]
"""Takes the percentage done so far. Cheap: call it as often as you like."""

_enter_background: ContextVar[Callable[[], None]] = ContextVar("stand_back", default=lambda: None)


def continue_in_background() -> None:
    """A job calls this during its work, when what people wait for is done: the rest runs in the background, and the
    worker has a slot for another job."""
    _enter_background.get()()


def on_continue_in_background(stand_back: Callable[[], None]) -> None:
    """For the worker: what happens when the job of this task says so, in whichever of the tasks that it starts."""
    _enter_background.set(stand_back)


PayloadT_contra = TypeVar("PayloadT_contra", bound=JobPayload, contravariant=True)


async def nothing_after_commit() -> None:
    """For jobs that end with their transaction."""


async def no_effects(transaction: Transaction) -> None:
    """For jobs that change nothing else: such completions are batched."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The work is done and stored under the attempt's prefix; nothing points to it yet."""

    result: dict[str, Any]
    effects: Effects = no_effects  # in the transaction that completes the job; may run again if that one was lost
    after_commit: Callable[[], Awaitable[None]] = (
        nothing_after_commit  # after the commit; someone else does it if we die before
    )


class JobHandler(Protocol[PayloadT_contra]):
    async def work(self, job: Job, payload: PayloadT_contra, report: ReportProgress) -> Finished:
        """Ends its child processes when it is cancelled."""
        ...


FIRST_RETRY_DELAY = timedelta(milliseconds=200)

logger = logging.getLogger(__name__)


async def write_while_held(database: Database, held: Job, percent: int, effects: Effects) -> None:
    """The effects run in one transaction with the fence, and again if the response to the commit was lost."""

    def warn(error: Exception) -> None:
        logger.warning("retrying the write", extra={"job_id": str(held.id), "reason": str(error)})

    await retry_transient(lambda: _write(database, held, percent, effects), FIRST_RETRY_DELAY, warn)


async def _write(database: Database, held: Job, percent: int, effects: Effects) -> None:
    async with database.transaction(held.tenant_id) as transaction:
        if await JobStore(transaction.connection).progress(held, percent) is None:
            raise LeaseLost(
                f"attempt {held.attempt} no longer holds job {held.id}", why="another worker may have it now"
            )
        await effects(transaction)
