"""How a workflow waits for parts of our own: activities answer for the failures of others, what they raise is ours.

Invariant: one rule for all workflows. Runs that began under an older one keep it: their histories must replay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from .calls import Answer, Call

ONE_RULE = "one-patience"  # the mark of runs that have waited by this rule
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=15), timedelta(minutes=2)
PATIENCE = timedelta(minutes=30)


@dataclass(frozen=True)
class Surely:
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
