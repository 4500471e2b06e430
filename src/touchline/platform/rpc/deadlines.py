"""How much time is left. What a service asks others is part of what it was asked, so it cannot take longer."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta

_ends_at: ContextVar[float | None] = ContextVar("ends_at", default=None)


@contextmanager
def ending_in(seconds: float) -> Generator[None]:
    """Everything asked inside ends by then."""
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
