"""Errors of the kernel as Temporal shows and retries them."""

from __future__ import annotations

from temporalio.exceptions import ApplicationError

from touchline.kernel import TouchlineError


def translated(error: TouchlineError) -> ApplicationError:
    """With its code as the type; only what passes by itself is tried again."""
    return ApplicationError(str(error), error.hint, type=error.code, non_retryable=not error.retryable)
