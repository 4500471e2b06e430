"""What a mutation answers: its result, or an error that its union names.

Invariant: `kernel.errors.SURFACES` decides which member an error is; one that the union does not name goes to `errors`.
"""

from __future__ import annotations

from collections.abc import Awaitable
from math import ceil
from typing import Any, TypeVar, cast, get_args

import strawberry

from touchline.kernel.errors import InvalidInput, RateLimited, TouchlineError, surface

from .errors import field_name

Answer = TypeVar("Answer")


@strawberry.interface(description="What went wrong, and what to do next. `code` is the contract; wording may change.")
class Problem:
    code: str
    message: str
    hint: str


@strawberry.type
class ValidationError(Problem):
    field: str | None


@strawberry.type
class NotFoundError(Problem):
    pass


@strawberry.type
class AuthError(Problem):
    pass


@strawberry.type
class RateLimitError(Problem):
    retry_after_seconds: int | None


@strawberry.type
class ConflictError(Problem):
    pass


@strawberry.type
class UnavailableError(Problem):
    pass


MEMBERS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (ValidationError, NotFoundError, AuthError, RateLimitError, ConflictError, UnavailableError)
}


async def answered(union: Any, work: Awaitable[Answer]) -> Answer:
    """The answer, or the member of the union that the error is. Typed as the answer: the union has both."""
    try:
        return await work
    except TouchlineError as error:
        kind = MEMBERS.get(surface(error).graphql)
        if kind is None or kind not in members(union):
            raise
        return cast("Answer", _member(kind, error))


def members(union: Any) -> frozenset[type[Any]]:
    """The types that an annotated union is made of."""
    [types, *_] = get_args(union)
    return frozenset(get_args(types))


def _member(kind: type[Any], error: TouchlineError) -> Any:
    values: dict[str, Any] = {"code": error.code, "message": str(error), "hint": error.hint}
    if kind is ValidationError:
        values["field"] = field_name(error) if isinstance(error, InvalidInput) and error.field else None
    if kind is RateLimitError:
        wait = error.retry_after if isinstance(error, RateLimited) else None
        values["retry_after_seconds"] = ceil(wait.total_seconds()) if wait else None
    return kind(**values)
