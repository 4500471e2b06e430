"""A call of one role to another, whether both run in one process or in two: for whom, how long, and how it fails.

Invariants: the service checks every call itself, so that it does not matter which way the call came. A call that a
service makes cannot outlast the one it answers. What is raised is one of our errors.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import timedelta

from touchline.kernel import DeadlineExceeded, Defect, Principal, Scope, TouchlineError, Unauthenticated

CALLERS_DEADLINE = timedelta.max  # for a service behind the RPC server, which ends a call when its caller said

_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)

logger = logging.getLogger(__name__)


def identified(caller: Principal | None) -> Principal:
    if caller is None:
        raise Unauthenticated("this call needs a user", why="it has no caller")
    return caller


def require(caller: Principal | None, scope: Scope) -> None:
    identified(caller).require(scope)


@contextmanager
def deadline_in(seconds: float) -> Generator[None]:
    """Calls made inside end by then."""
    token = _ends_at.set(asyncio.get_running_loop().time() + seconds)
    try:
        yield
    finally:
        _ends_at.reset(token)


def seconds_left(wanted: timedelta) -> float:
    ends_at = _ends_at.get()
    if ends_at is None:
        return wanted.total_seconds()
    return min(wanted.total_seconds(), max(ends_at - asyncio.get_running_loop().time(), 0.0))


@asynccontextmanager
async def answering(deadline: timedelta) -> AsyncGenerator[None]:
    """Around the answer to one call: it ends by the deadline, and the text of an unexpected error stays in the log."""
    seconds = seconds_left(deadline)
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            with deadline_in(seconds):
                yield
    except TouchlineError:
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and limit.expired():
            raise DeadlineExceeded("the service took too long", why=f"it had {seconds:.1f} s") from error
        logger.exception("a call failed")
        raise Defect("the service failed", why="the reason is in its log") from error
