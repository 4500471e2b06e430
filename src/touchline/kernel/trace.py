"""The thread that runs through one story: a request, the events it made, and what those caused."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_trace: ContextVar[str | None] = ContextVar("trace", default=None)


def current_trace() -> str | None:
    return _trace.get()


@contextmanager
def tracing(trace: str | None) -> Generator[None]:
    """Everything announced and logged inside carries this trace."""
    token = _trace.set(trace)
    try:
        yield
    finally:
        _trace.reset(token)
