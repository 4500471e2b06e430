"""The trace id of a request, which its events and everything that they cause carry."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

_trace: ContextVar[str | None] = ContextVar("trace", default=None)


def current_trace() -> str | None:
    return _trace.get()


@contextmanager
def tracing(trace: str | None) -> Generator[None]:
    """Every event announced and every line logged inside carries this trace id."""
    token = _trace.set(trace)
    try:
        yield
    finally:
        _trace.reset(token)
