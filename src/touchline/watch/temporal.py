"""What watch's workflows and activities share: calls, waiting for parts that are away, errors, outcomes of a chunk.

Invariant: no activity is called without a time-out and retries, which each `workflow.py` states once for each of its
calls; a test looks for the activity behind every call.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, TimeoutError as TooLate

from touchline.kernel import Defect, RateLimited, TouchlineError, backoff
from touchline.platform.retry import is_transient

from .model import HEAVY_QUEUE

# Calls: how a workflow calls an activity, by name.

Answer = TypeVar("Answer")
UNLIMITED = 0  # attempts: until the run itself ends
SHORT_PAUSE = timedelta(seconds=1)  # before a nearby call is made again; for longer ones the run waits by a timer


@dataclass(frozen=True)
class Call(Generic[Answer]):
    name: str
    answer: type[Answer]
    within: timedelta
    attempts: int
    first_pause: timedelta = timedelta(seconds=1)
    backoff: float = 2.0
    heartbeat: timedelta | None = None
    heavy: bool = False
    urgency: int = 3  # 1 to 5, the most urgent first: who waits for a slot of the same queue goes in this order
    near: bool = False  # a few statements of ours: made by the worker that has the run, in the same step

    async def __call__(self, *arguments: Any) -> Answer:
        if self.near:
            return await self._make_here(*arguments)
        return await workflow.execute_activity(
            self.name,
            args=list(arguments),
            result_type=self.answer,
            task_queue=HEAVY_QUEUE if self.heavy else None,
            start_to_close_timeout=self.within,
            heartbeat_timeout=self.heartbeat,
            priority=Priority(priority_key=self.urgency),
            retry_policy=self._retries,
        )

    async def _make_here(self, *arguments: Any) -> Answer:
        """The server hears of it with the rest of the step, instead of twice for each call."""
        try:
            return await workflow.execute_local_activity(
                self.name,
                args=list(arguments),
                result_type=self.answer,
                start_to_close_timeout=self.within,
                retry_policy=self._retries,
                local_retry_threshold=SHORT_PAUSE,
            )
        except (ApplicationError, TooLate) as error:  # bare, unlike that of a call through the server
            raise self._failed() from error

    def _failed(self) -> ActivityError:
        return ActivityError(
            "Activity task failed",
            scheduled_event_id=0,
            started_event_id=0,
            identity="",
            activity_type=self.name,
            activity_id="",
            retry_state=None,
        )

    @property
    def _retries(self) -> RetryPolicy:
        return RetryPolicy(
            maximum_attempts=self.attempts, initial_interval=self.first_pause, backoff_coefficient=self.backoff
        )


# How a workflow waits for parts of our own: activities answer for the failures of others, what they raise is ours.
# Invariant: one rule for all workflows.

FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(minutes=2)
TIMEOUT = timedelta(minutes=30)


@dataclass(frozen=True)
class RetryWhileUnavailable:
    """Calls again, after a pause, when all the tries of a call were in vain: a part that is away comes back."""

    prefix: str  # of its lines in the log

    async def __call__(self, call: Call[Answer], *arguments: Any) -> Answer:
        began, rounds = workflow.now(), 0
        while True:
            try:
                return await call(*arguments)
            except ActivityError as error:
                if _is_final(error) or workflow.now() - began >= TIMEOUT:
                    raise
                reason = {"activity": call.name, "reason": str(error.cause or error)}
                workflow.logger.warning(f"[{self.prefix}] Waiting to call again", extra=reason)
                await workflow.sleep(pause(rounds))
                rounds += 1


def pause(rounds: int) -> timedelta:
    """Longer from round to round, so that histories stay short."""
    return backoff(FIRST_PAUSE, rounds, LONGEST_PAUSE)


def _is_final(error: ActivityError) -> bool:
    return isinstance(error.cause, ApplicationError) and error.cause.non_retryable


# How a failure of ours looks to Temporal: its code is the type, and whether trying again can help is said once, here.
# Invariant: what nobody foresaw is tried again; only what is known to stay wrong is not.


def translated(error: Exception) -> ApplicationError:
    """Its reason included: "activity task failed" helps nobody."""
    if isinstance(error, ApplicationError):
        return error
    if not isinstance(error, TouchlineError):
        return ApplicationError(f"{type(error).__name__}: {error}", type=Defect.code)
    wait = error.retry_after if isinstance(error, RateLimited) else None
    return ApplicationError(
        f"{error} {error.hint}", type=error.code, non_retryable=not error.retryable, next_retry_delay=wait
    )


@contextmanager
def as_temporal_errors() -> Generator[None]:
    """Around the work of an activity."""
    try:
        yield
    except Exception as error:
        raise translated(error) from error


# What became of each match of a chunk: one outcome each, whatever happened to the others.

logger = logging.getLogger(__name__)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class FixtureOutcome:
    fixture_id: int
    what: str  # what was done, or the code of what went wrong
    ok: bool = True


async def one_by_one(
    items: Iterable[tuple[int, Item]],
    work: Callable[[Item], Awaitable[FixtureOutcome]],
    *,
    last_try: bool,
) -> list[FixtureOutcome]:
    """All of them, also after one that failed. A transient error is raised at the end, unless this is the last try:
    doing the others once more changes nothing.
    """
    outcomes: list[FixtureOutcome] = []
    passing: Exception | None = None
    for fixture_id, item in items:
        try:
            outcomes.append(await work(item))
        except Exception as error:  # whatever it is, it is this match's alone
            logger.exception("[MONITOR] Fixture failed", extra={"fixture": fixture_id})
            outcomes.append(FixtureOutcome(fixture_id, code_of(error), ok=False))
            passing = passing or (error if is_transient(error) else None)
    if passing and not last_try:
        raise passing
    return outcomes


def code_of(error: Exception) -> str:
    return error.code if isinstance(error, TouchlineError) else Defect.code
