"""How a workflow calls an activity: by name, with a time-out and retries that its module states once.

Invariant: nothing is called without both. A module's `calls.py` holds its calls; a test looks for the activity behind
each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError
from temporalio.exceptions import TimeoutError as TooLate

from .model import HEAVY_QUEUE

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
