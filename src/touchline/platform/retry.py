"""Which failures pass by themselves, and how to outlive them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from logging import Logger
from typing import Never

import psycopg

from touchline.kernel import TouchlineError

LONGEST_DELAY = timedelta(seconds=30)


def passes_by_itself(error: BaseException) -> bool:
    """True for what says nothing about the data: a part that is away, a deadlock, a dropped connection."""
    if isinstance(error, TouchlineError):
        return error.retryable
    return isinstance(error, psycopg.OperationalError | ConnectionError | TimeoutError)


def delay_seconds(first: timedelta, attempt: int) -> float:
    """Doubling from the first delay up to the longest."""
    return min(first * 2 ** min(attempt, 20), LONGEST_DELAY).total_seconds()


async def retried_forever(turn: Callable[[], Awaitable[None]], first_delay: timedelta, logger: Logger) -> Never:
    """Takes turns until cancelled; only what passes by itself is waited out, the rest is raised."""
    failures = 0
    while True:
        try:
            await turn()
            failures = 0
        except Exception as error:
            if not passes_by_itself(error):
                raise
            logger.warning("trying again", extra={"reason": str(error), "failures": failures + 1})
            await asyncio.sleep(delay_seconds(first_delay, failures))
            failures += 1
