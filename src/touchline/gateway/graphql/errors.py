"""Errors in the `errors` of an answer: what the unions of results do not cover.

Invariant: each carries `code`, `hint` and `retryable`; what went wrong inside is logged and not told.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from math import ceil
from typing import Any

from graphql import GraphQLError
from graphql.validation.validate import ValidationAbortedError
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import StreamExecutionResult
from strawberry.utils.str_converters import to_camel_case

from touchline.kernel.errors import Defect, InvalidInput, LimitExceeded, RateLimited, TouchlineError, surface

from .limits import HINT

INTERNAL = 500
logger = logging.getLogger(__name__)


def cause(error: GraphQLError) -> TouchlineError:
    """What an error of the library means. Without a cause of its own it is about the document that was sent."""
    original = error.original_error
    while isinstance(original, GraphQLError):
        original = original.original_error
    if isinstance(error, ValidationAbortedError):
        return LimitExceeded("the document asks for too much checking", why=error.message, hint=HINT)
    match original:
        case TouchlineError():
            return original
        case None | CannotGetOperationTypeError() | InvalidOperationTypeError():
            return InvalidInput(error.message, hint="Correct the document; introspection describes the schema.")
        case RecursionError():
            return LimitExceeded("the operation is too deep")
        case _:
            return Defect("unexpected")


def told(error: GraphQLError) -> GraphQLError:
    """The same error as a client may see it."""
    known = cause(error)
    if surface(known).http == INTERNAL:
        known = Defect("something went wrong on our side")
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


def log(errors: list[GraphQLError]) -> None:
    for error in errors:
        if surface(cause(error)).http == INTERNAL:
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
            result.errors = [told(error) for error in result.errors]
