"""Which failures are transient, and the retry policy for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from logging import Logger
from typing import Never, TypeVar

import psycopg

from touchline.kernel import TouchlineError, backoff

LONGEST_DELAY = timedelta(seconds=30)

Answer = TypeVar("Answer")


def is_transient(error: BaseException) -> bool:
    """True for failures that say nothing about the data: an unavailable server, a deadlock, a dropped connection."""
    if isinstance(error, TouchlineError):
        return error.retryable
    return isinstance(error, psycopg.OperationalError | ConnectionError | TimeoutError)


def backoff_seconds(first: timedelta, attempt: int, longest: timedelta = LONGEST_DELAY) -> float:
    """Exponential backoff: doubles from the first delay up to the longest."""
    return backoff(first, attempt, longest).total_seconds()


async def retry_transient(
    call: Callable[[], Awaitable[Answer]],
    first_delay: timedelta,
    on_failure: Callable[[Exception], None],
    may_continue: Callable[[], bool] = lambda: True,
    longest_delay: timedelta = LONGEST_DELAY,
) -> Answer:
    """Repeats `call` after transient errors, each reported to `on_failure`; raises all others, and any error once
    `may_continue` returns False."""
    failures = 0
    while True:
        try:
            return await call()
        except Exception as error:
            if not is_transient(error) or not may_continue():
                raise
            on_failure(error)
        await asyncio.sleep(backoff_seconds(first_delay, failures, longest_delay))
        failures += 1


async def retry_forever(turn: Callable[[], Awaitable[None]], first_delay: timedelta, logger: Logger) -> Never:
    """Repeats `turn` until cancelled; retries after transient errors, raises all others."""
    failures = 0
    while True:
        try:
            await turn()
            failures = 0
        except Exception as error:
            if not is_transient(error):
                raise
            logger.warning("trying again", extra={"reason": str(error), "failures": failures + 1})
            await asyncio.sleep(backoff_seconds(first_delay, failures))
            failures += 1
