"""Every failure that a person or a program can meet, as one tree.

    TouchlineError
    ├── InvalidInput            the request itself is wrong; names the field
    ├── Unauthenticated         nobody we know
    │   └── SessionOver         somebody we knew
    ├── Forbidden               known, but not allowed
    ├── NotFound                unknown, or another tenant's: the same answer
    ├── Conflict                the state does not allow it
    │   ├── AlreadyExists
    │   └── LeaseLost           a writer that was replaced; its write was refused
    ├── LimitExceeded
    │   ├── RateLimited
    │   └── QuotaExceeded
    ├── Unavailable             a part did not answer: says nothing about the data
    │   ├── DeadlineExceeded
    │   └── StorageFull         a disk has no space left; nothing was acknowledged
    ├── SetupError              this installation needs a hand
    │   ├── Misconfigured
    │   └── HistoryDiffers      the database was migrated by other files
    └── Defect                  our own mistake

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
    next_step: ClassVar[str] = "Run `touchline doctor`, and report what it says."

    def __init__(self, what: str, *, why: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.hint = hint or self.next_step

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" if self.why else self.what


class InvalidInput(TouchlineError):
    code = "invalid_input"
    next_step = "Change what is named here, then try again."

    def __init__(self, what: str, *, field: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(what, why=why, hint=hint)
        self.field = field


class Unauthenticated(TouchlineError):
    code = "unauthenticated"
    next_step = "Sign in. A program needs an API token that was neither revoked nor has expired."


class SessionOver(Unauthenticated):
    code = "session_over"
    next_step = "Sign in again."


class Forbidden(TouchlineError):
    code = "forbidden"
    next_step = "Ask an administrator of the tenant for the role or scope."


class NotFound(TouchlineError):
    code = "not_found"
    next_step = "Check the address or the id. It may have been deleted."


class Conflict(TouchlineError):
    code = "conflict"
    next_step = "Reload to see how it is now, then decide again."


class AlreadyExists(Conflict):
    code = "already_exists"
    next_step = "Use the one that exists, or choose another name."


class LeaseLost(Conflict):
    code = "lease_lost"
    next_step = "Nothing: whoever holds the lease now does the work."


class LimitExceeded(TouchlineError):
    code = "limit_exceeded"
    next_step = "Ask for less, or raise the limit in the settings."


class RateLimited(LimitExceeded):
    code = "rate_limited"
    retryable = True
    next_step = "Wait a little, then try again."

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
    """Retryable: the same request succeeds once somebody has freed space. Whoever consumes waits, and loses nothing."""

    code = "storage_full"
    next_step = "Free disk space, then send it again; `touchline status` shows whose disk is full."


class SetupError(TouchlineError):
    code = "setup"
    next_step = "Run `touchline doctor`: it says how to mend it."


class Misconfigured(SetupError):
    code = "misconfigured"
    next_step = "Run `touchline config` to see every value and where it comes from."


class HistoryDiffers(SetupError):
    code = "history_differs"
    next_step = "Install the version that migrated this database, or restore a backup."


class Defect(TouchlineError):
    code = "internal"
    next_step = "Report it with the lines that `touchline logs` shows around it."


@dataclass(frozen=True, slots=True)
class Surface:
    """How one error code looks on each way out of the product."""

    grpc: str
    http: int
    graphql: str
    exit: int


SURFACES: dict[str, Surface] = {
    "error": Surface("UNKNOWN", 500, "InternalError", 1),
    "internal": Surface("INTERNAL", 500, "InternalError", 1),
    "invalid_input": Surface("INVALID_ARGUMENT", 400, "ValidationError", 2),
    "not_found": Surface("NOT_FOUND", 404, "NotFoundError", 3),
    "unauthenticated": Surface("UNAUTHENTICATED", 401, "AuthError", 4),
    "session_over": Surface("UNAUTHENTICATED", 401, "AuthError", 4),
    "forbidden": Surface("PERMISSION_DENIED", 403, "AuthError", 4),
    "conflict": Surface("FAILED_PRECONDITION", 409, "ConflictError", 5),
    "already_exists": Surface("ALREADY_EXISTS", 409, "ConflictError", 5),
    "lease_lost": Surface("ABORTED", 409, "ConflictError", 5),
    "limit_exceeded": Surface("RESOURCE_EXHAUSTED", 413, "RateLimitError", 6),
    "rate_limited": Surface("RESOURCE_EXHAUSTED", 429, "RateLimitError", 6),
    "quota_exceeded": Surface("RESOURCE_EXHAUSTED", 403, "RateLimitError", 6),
    "unavailable": Surface("UNAVAILABLE", 503, "UnavailableError", 7),
    "deadline_exceeded": Surface("DEADLINE_EXCEEDED", 504, "UnavailableError", 7),
    "storage_full": Surface("RESOURCE_EXHAUSTED", 507, "UnavailableError", 7),
    "setup": Surface("FAILED_PRECONDITION", 500, "InternalError", 8),
    "misconfigured": Surface("FAILED_PRECONDITION", 500, "InternalError", 8),
    "history_differs": Surface("FAILED_PRECONDITION", 500, "InternalError", 8),
}


_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_storage_full(error: BaseException) -> bool:
    """Whether the operating system says that there is no space for a write, or no more of it for this user."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def surface(error: TouchlineError) -> Surface:
    return SURFACES[error.code]


def tree(root: type[TouchlineError] = TouchlineError) -> Iterator[type[TouchlineError]]:
    """Every class of the tree, parents first."""
    yield root
    for child in root.__subclasses__():
        yield from tree(child)
