"""Errors on their way from one process to another: the same class, the same words.

Invariant: what is not one of our errors crosses as `internal` and without its text, which may hold anything.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import grpc

from touchline.contracts.rpc.v1.common_pb2 import Failure
from touchline.kernel.errors import (
    DeadlineExceeded,
    Defect,
    InvalidInput,
    LimitExceeded,
    Misconfigured,
    RateLimited,
    TouchlineError,
    Unavailable,
    surface,
    tree,
)

LONGEST_TEXT = 1000  # characters: a failure travels in the metadata, where 8 KiB is the limit
MILLISECOND = timedelta(milliseconds=1)
TOO_MANY = "Concurrent RPC limit"  # in the words of a server that is busy: it has the same status as a large message


def to_failure(error: Exception) -> Failure:
    if not isinstance(error, TouchlineError):
        return to_failure(Defect("the service failed", why="the reason is in its log"))
    return Failure(
        code=error.code,
        what=error.what[:LONGEST_TEXT],
        why=error.why[:LONGEST_TEXT],
        hint=error.hint[:LONGEST_TEXT],
        field=error.field[:LONGEST_TEXT] if isinstance(error, InvalidInput) else "",
        retry_after_ms=_retry_after_ms(error),
    )


def to_status(error: Exception) -> grpc.StatusCode:
    known = error if isinstance(error, TouchlineError) else Defect("")
    return grpc.StatusCode[surface(known).grpc]


def to_error(failure: Failure) -> TouchlineError:
    kind = next((kind for kind in tree() if kind.code == failure.code), None)
    if kind is None:
        return Defect(failure.what, why=f"{failure.code}: {failure.why}", hint=failure.hint)
    more: dict[str, Any] = {}
    if issubclass(kind, InvalidInput):
        more["field"] = failure.field
    if issubclass(kind, RateLimited) and failure.HasField("retry_after_ms"):
        more["retry_after"] = failure.retry_after_ms * MILLISECOND
    return kind(failure.what, why=failure.why, hint=failure.hint, **more)


def without_failure(code: grpc.StatusCode, details: str | None, method: str) -> TouchlineError:
    """The call failed below the services: there, on the way, or here."""
    why = f"{method}: {details or code.name.lower()}"
    match code:
        case grpc.StatusCode.DEADLINE_EXCEEDED:
            return DeadlineExceeded("the service did not answer in time", why=why)
        case grpc.StatusCode.UNAUTHENTICATED:
            hint = "Give every process the same `cluster_secret`, and their machines the right time."
            return Misconfigured("the service refuses this process", why=why, hint=hint)
        case grpc.StatusCode.RESOURCE_EXHAUSTED if TOO_MANY not in why:
            return LimitExceeded("the message is too large", why=why)
        case grpc.StatusCode.UNIMPLEMENTED:
            return Defect("the service does not know this call", why=why, hint="Run one version everywhere.")
        case _:
            return Unavailable("the service cannot be reached", why=why)


def _retry_after_ms(error: TouchlineError) -> int | None:
    if isinstance(error, RateLimited) and error.retry_after is not None:
        return error.retry_after // MILLISECOND
    return None
