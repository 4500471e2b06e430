"""How a workflow calls an activity: by name, with a time-out and retries that its module states once.

Invariant: nothing is called without both. A module's `calls.py` holds its calls; a test looks for the activity behind
each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as TooLate

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Defect, RateLimited

from .model import HEAVY_QUEUE

# How a workflow calls an activity: by name, with a time-out and retries that its module states once.
# Invariant: nothing is called without both. A module's `calls.py` holds its calls; a test looks for the activity
# behind each of them.

Answer = TypeVar("Answer")
UNLIMITED = 0  # attempts: until the run itself ends
NEARBY = "nearby"  # the mark of runs that make their short calls themselves
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
    urgency: int = 3  # 1 to 5, the most urgent first: who waits for a hand of the same queue goes in this order
    near: bool = False  # a few statements of ours: made by the worker that has the run, in the same step

    async def __call__(self, *arguments: Any) -> Answer:
        if self.near and workflow.patched(NEARBY):
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
# Invariant: one rule for all workflows. Runs that began under an older one keep it: their histories must replay.

with workflow.unsafe.imports_passed_through():
    pass
ONE_RULE = "one-patience"  # the mark of runs that have waited by this rule
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(minutes=2)
PATIENCE = timedelta(minutes=30)


@dataclass(frozen=True)
class RetryWhileUnavailable:
    """Calls again, after a pause, when all the tries of a call were in vain: a part that is away comes back."""

    prefix: str  # of its lines in the log
    gave_up: Callable[[int, timedelta], bool]  # after so many rounds, or so long, before there was one rule

    async def __call__(self, call: Call[Answer], *arguments: Any) -> Answer:
        began, rounds = workflow.now(), 0
        while True:
            try:
                return await call(*arguments)
            except ActivityError as error:
                if _is_final(error) or self._gives_up(rounds, workflow.now() - began):
                    raise
                reason = {"activity": call.name, "reason": str(error.cause or error)}
                workflow.logger.warning(f"[{self.prefix}] Waiting to call again", extra=reason)
                await workflow.sleep(pause(rounds))
                rounds += 1

    def _gives_up(self, rounds: int, waited: timedelta) -> bool:
        if workflow.patched(ONE_RULE):
            return waited >= PATIENCE
        return self.gave_up(rounds, waited)


def pause(rounds: int) -> timedelta:
    """Longer from round to round, so that histories stay short."""
    return min(FIRST_PAUSE * 2 ** min(rounds, 10), LONGEST_PAUSE)


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
