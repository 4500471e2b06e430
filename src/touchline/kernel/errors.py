"""Every failure that a person or a program can meet, as one tree.

    TouchlineError
    ├── InvalidInput            the request itself is wrong; names the field
    ├── Unauthenticated         no valid credentials
    │   └── SessionOver         the session has ended
    ├── Forbidden               known, but not allowed
    ├── NotFound                unknown, or another tenant's: the same answer
    ├── Conflict                the state does not allow it
    │   ├── AlreadyExists
    │   └── LeaseLost           a writer that was replaced; its write was refused
    ├── LimitExceeded
    │   ├── RateLimited
    │   └── QuotaExceeded
    ├── Unavailable             a part did not answer: this says nothing about the data
    │   ├── DeadlineExceeded
    │   ├── StorageFull         a disk has no space left; nothing was acknowledged
    │   └── Warming             it is being fetched from cold storage
    ├── SetupError              the installation must be fixed
    │   ├── Misconfigured
    │   └── HistoryDiffers      another version created the database
    └── Defect                  a bug of ours

Invariant: `code` is the contract; wording may change, codes may not.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar


class TouchlineError(Exception):
    """What happened, why, and what to do next."""

    code: ClassVar[str] = "error"
    retryable: ClassVar[bool] = False
    next_step: ClassVar[str] = "Run `touchline doctor`, and report its output."

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint or self.next_step

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


class InvalidInput(TouchlineError):
    code = "invalid_input"
    next_step = "Correct the input, then try again."

    def __init__(self, what: str, *, field: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.field = field


class Unauthenticated(TouchlineError):
    code = "unauthenticated"
    next_step = "Sign in. A program needs a valid API token: neither revoked nor expired."


class SessionOver(Unauthenticated):
    code = "session_over"
    next_step = "Sign in again."


class Forbidden(TouchlineError):
    code = "forbidden"
    next_step = "Ask an administrator of the tenant for the role or scope."


class NotFound(TouchlineError):
    code = "not_found"
    next_step = "Check the URL or the id. It may have been deleted."


class Conflict(TouchlineError):
    code = "conflict"
    next_step = "Reload to see the current state, then try again."


class AlreadyExists(Conflict):
    code = "already_exists"
    next_step = "Use the one that exists, or choose another name."


class LeaseLost(Conflict):
    code = "lease_lost"
    next_step = "Nothing to do: the current holder of the lease continues the work."


class LimitExceeded(TouchlineError):
    code = "limit_exceeded"
    next_step = "Request less, or raise the limit in the settings."


class RateLimited(LimitExceeded):
    code = "rate_limited"
    retryable = True
    next_step = "Wait a moment, then try again."

    def __init__(self, what: str, *, retry_after: timedelta | None = None, why: str = "", hint: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.retry_after = retry_after


class QuotaExceeded(LimitExceeded):
    code = "quota_exceeded"
    next_step = "Delete something, or ask an operator for a larger quota."


class Unavailable(TouchlineError):
    code = "unavailable"
    retryable = True
    next_step = "Try again; `touchline status` shows which part is down."


class DeadlineExceeded(Unavailable):
    code = "deadline_exceeded"


class StorageFull(Unavailable):
    """Retryable: the same request succeeds once space was freed. Consumers wait, and lose nothing."""

    code = "storage_full"
    next_step = "Free disk space, then try again; `touchline status` shows which disk is full."


class Warming(Unavailable):
    """Retryable: the same request succeeds once a node has its copy from cold storage."""

    code = "warming"
    next_step = "Try again in a few seconds."

    def __init__(self, what: str, *, retry_after: timedelta | None = None, why: str = "", hint: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.retry_after = retry_after


class SetupError(TouchlineError):
    code = "setup"
    next_step = "Run `touchline doctor`: it says how to fix it."


class Misconfigured(SetupError):
    code = "misconfigured"
    next_step = "Run `touchline config` to see every value and where it comes from."


class HistoryDiffers(SetupError):
    code = "history_differs"
    next_step = "Use this data with the version that created it, or start with a new data folder."


class Defect(TouchlineError):
    code = "internal"
    next_step = "Report it with the log lines around it (`touchline logs`)."


@dataclass(frozen=True, slots=True)
class ErrorSurface:
    """How one error code appears in each protocol."""

    grpc: str
    http: int
    graphql: str
    exit: int


SURFACES: dict[str, ErrorSurface] = {
    "error": ErrorSurface("UNKNOWN", 500, "InternalError", 1),
    "internal": ErrorSurface("INTERNAL", 500, "InternalError", 1),
    "invalid_input": ErrorSurface("INVALID_ARGUMENT", 400, "ValidationError", 2),
    "not_found": ErrorSurface("NOT_FOUND", 404, "NotFoundError", 3),
    "unauthenticated": ErrorSurface("UNAUTHENTICATED", 401, "AuthError", 4),
    "session_over": ErrorSurface("UNAUTHENTICATED", 401, "AuthError", 4),
    "forbidden": ErrorSurface("PERMISSION_DENIED", 403, "AuthError", 4),
    "conflict": ErrorSurface("FAILED_PRECONDITION", 409, "ConflictError", 5),
    "already_exists": ErrorSurface("ALREADY_EXISTS", 409, "ConflictError", 5),
    "lease_lost": ErrorSurface("ABORTED", 409, "ConflictError", 5),
    "limit_exceeded": ErrorSurface("RESOURCE_EXHAUSTED", 413, "RateLimitError", 6),
    "rate_limited": ErrorSurface("RESOURCE_EXHAUSTED", 429, "RateLimitError", 6),
    "quota_exceeded": ErrorSurface("RESOURCE_EXHAUSTED", 403, "RateLimitError", 6),
    "unavailable": ErrorSurface("UNAVAILABLE", 503, "UnavailableError", 7),
    "deadline_exceeded": ErrorSurface("DEADLINE_EXCEEDED", 504, "UnavailableError", 7),
    "warming": ErrorSurface("UNAVAILABLE", 503, "WarmingError", 7),
    "storage_full": ErrorSurface("RESOURCE_EXHAUSTED", 507, "UnavailableError", 7),
    "setup": ErrorSurface("FAILED_PRECONDITION", 500, "InternalError", 8),
    "misconfigured": ErrorSurface("FAILED_PRECONDITION", 500, "InternalError", 8),
    "history_differs": ErrorSurface("FAILED_PRECONDITION", 500, "InternalError", 8),
}


_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_storage_full(error: BaseException) -> bool:
    """Whether the operating system reports a full disk, or an exhausted quota of this user."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def surface(error: TouchlineError) -> ErrorSurface:
    return SURFACES[error.code]


def error_classes(root: type[TouchlineError] = TouchlineError) -> Iterator[type[TouchlineError]]:
    """Every class of the tree, parents first."""
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)
