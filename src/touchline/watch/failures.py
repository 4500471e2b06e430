"""How a failure of ours looks to Temporal: its code is the type, and whether trying again can help is said once, here.

Invariant: what nobody foresaw is tried again; only what is known to stay wrong is not.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from temporalio.exceptions import ApplicationError

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Defect, RateLimited


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
def told_to_temporal() -> Generator[None]:
    """Around the work of an activity."""
    try:
        yield
    except Exception as error:
        raise translated(error) from error
