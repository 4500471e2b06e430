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

from .model import HEAVY_QUEUE

Answer = TypeVar("Answer")


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

    async def __call__(self, *arguments: Any) -> Answer:
        return await workflow.execute_activity(
            self.name,
            args=list(arguments),
            result_type=self.answer,
            task_queue=HEAVY_QUEUE if self.heavy else None,
            start_to_close_timeout=self.within,
            heartbeat_timeout=self.heartbeat,
            priority=Priority(priority_key=self.urgency),
            retry_policy=RetryPolicy(
                maximum_attempts=self.attempts, initial_interval=self.first_pause, backoff_coefficient=self.backoff
            ),
        )
