"""Errors in GraphQL: as a member of a mutation's result union, or in `errors` where the union does not name it.

Invariant: `kernel.errors.SURFACES` decides which member an error is. Every entry of `errors` carries `code`, `hint` and
`retryable`; internal errors are logged and their details are not sent.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Iterator
from math import ceil
from typing import Any, TypeVar, cast, get_args

import strawberry
from graphql import GraphQLError
from graphql.validation.validate import ValidationAbortedError
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import StreamExecutionResult
from strawberry.utils.str_converters import to_camel_case

from touchline.kernel import Defect, InvalidInput, LimitExceeded, RateLimited, TouchlineError, Warming, surface

from .limits import HINT

# --- The `errors` of an answer.

INTERNAL = 500
logger = logging.getLogger(__name__)


def cause_of(error: GraphQLError) -> TouchlineError:
    """What an error of the library means. Without a cause of its own it is about the document that was sent."""
    original = error.original_error
    while isinstance(original, GraphQLError):
        original = original.original_error
    if isinstance(error, ValidationAbortedError):
        return LimitExceeded("the document is too complex to validate", why=error.message, hint=HINT)
    match original:
        case TouchlineError():
            return original
        case None | CannotGetOperationTypeError() | InvalidOperationTypeError():
            return InvalidInput(error.message, hint="Correct the GraphQL document. Introspection describes the schema.")
        case RecursionError():
            return LimitExceeded("the operation is too deep")
        case _:
            return Defect("unexpected")


def public_error(error: GraphQLError) -> GraphQLError:
    """The same error as a client may see it."""
    known = cause_of(error)
    if surface(known).http == INTERNAL:
        known = Defect("an internal error occurred")
    extensions: dict[str, Any] = {"code": known.code, "hint": known.hint, "retryable": known.retryable}
    if isinstance(known, InvalidInput) and known.field:
        extensions["field"] = field_name(known)
    if isinstance(known, RateLimited) and known.retry_after:
        extensions["retryAfterSeconds"] = ceil(known.retry_after.total_seconds())
    return GraphQLError(
        str(known),
        nodes=error.nodes,
        source=error.source,
        positions=error.positions,
        path=error.path,
        extensions=extensions,
    )


def field_name(error: InvalidInput) -> str:
    """As the schema spells it."""
    return ".".join(to_camel_case(part) for part in error.field.split("."))


def log_errors(errors: list[GraphQLError]) -> None:
    for error in errors:
        if surface(cause_of(error)).http == INTERNAL:
            logger.error("a field failed", exc_info=error.original_error, extra={"path": error.path})


class TypedErrors(SchemaExtension):
    def on_operation(self) -> Iterator[None]:
        self._streamed = False
        yield
        if not self._streamed:
            self._dress(self.execution_context.result)

    def on_stream_result(self, result: StreamExecutionResult) -> Iterator[None]:
        self._streamed = True
        self._dress(result)
        yield

    def _dress(self, result: Any) -> None:
        if result is not None and result.errors:
            result.errors = [public_error(error) for error in result.errors]


# --- Results of mutations.

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


@strawberry.type(description="It lies in cold storage, and is being brought back.")
class WarmingError(Problem):
    retry_after_seconds: int | None


MEMBERS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        *(ValidationError, NotFoundError, AuthError, RateLimitError, ConflictError, UnavailableError),
        WarmingError,
    )
}


async def as_result(union: Any, work: Awaitable[Answer]) -> Answer:
    """The answer, or the member of the union that the error is. Typed as the answer: the union has both."""
    try:
        return await work
    except TouchlineError as error:
        kind = MEMBERS.get(surface(error).graphql)
        if kind is None or kind not in members(union):
            raise
        return cast("Answer", _error_member(kind, error))


def members(union: Any) -> frozenset[type[Any]]:
    """The types that an annotated union is made of."""
    [types, *_] = get_args(union)
    return frozenset(get_args(types))


def _error_member(kind: type[Any], error: TouchlineError) -> Any:
    values: dict[str, Any] = {"code": error.code, "message": str(error), "hint": error.hint}
    if kind is ValidationError:
        values["field"] = field_name(error) if isinstance(error, InvalidInput) and error.field else None
    if kind in (RateLimitError, WarmingError):
        wait = error.retry_after if isinstance(error, RateLimited | Warming) else None
        values["retry_after_seconds"] = ceil(wait.total_seconds()) if wait else None
    return kind(**values)
