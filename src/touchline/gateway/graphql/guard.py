"""Holds every operation to the limits, before it is validated and long before it runs.

Invariant: whatever a document says, checking it takes a bounded time, and most of that in a thread: the loop goes on
answering others. HTTP and live connections pass here alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import cast

from graphql import DocumentNode, GraphQLError, TokenKind, validate
from strawberry.extensions import SchemaExtension
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule
from strawberry.types.execution import ParseOptions

from touchline.kernel import TouchlineError
from touchline.kernel.errors import InvalidInput
from touchline.kernel.values import is_text

from .context import Context
from .limits import MOST_ERRORS, Limits, measure

TEXTS = (TokenKind.STRING, TokenKind.BLOCK_STRING)
OWN_RULES = (MaybeNullValidationRule, OneOfInputValidationRule)  # strawberry's, beside those of the specification


class Guard(SchemaExtension):
    @property
    def _context(self) -> Context:
        return cast("Context", self.execution_context.context)

    def on_operation(self) -> Iterator[None]:
        settings = self._context.parts.settings
        limits = {"max_tokens": settings.max_tokens, "max_source_length": int(settings.max_document)}
        self.execution_context.parse_options = cast("ParseOptions", limits)  # strawberry knows of the first only
        yield

    async def on_validate(self) -> AsyncIterator[None]:
        """What is found here takes the place of the validation that would follow."""
        self.execution_context.pre_execution_errors = await asyncio.to_thread(self._find_errors)
        yield

    def _find_errors(self) -> list[GraphQLError]:
        try:
            self._check()
        except TouchlineError as error:
            return [GraphQLError(str(error), original_error=error)]
        execution = self.execution_context
        if execution.graphql_document is None:
            return []  # strawberry has said so already
        rules, schema = (*execution.validation_rules, *OWN_RULES), execution.schema._schema  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        found = validate(schema, execution.graphql_document, rules, max_errors=MOST_ERRORS)
        return [_about_the_document(error) for error in found]

    def _check(self) -> None:
        execution, settings = self.execution_context, self._context.parts.settings
        if execution.operation_type not in self._context.operations:
            why = "subscriptions go over graphql-transport-ws, queries and mutations over POST"
            raise InvalidInput("this operation does not pass here", why=why)
        if execution.graphql_document is not None:
            _require_texts(execution.graphql_document)
            limits = Limits(settings.max_depth, settings.max_cost, settings.max_aliases)
            measure(execution.graphql_document, execution.variables or {}, limits)


def _require_texts(document: DocumentNode) -> None:
    """Of the literals; variables were looked at when they came in."""
    token = document.loc.start_token if document.loc else None
    while token is not None:
        if token.kind in TEXTS and not is_text(token.value or ""):
            why = "it holds half a character, or the character zero"
            raise InvalidInput("a text of the document is not text", why=why)
        token = token.next


def _about_the_document(error: GraphQLError) -> GraphQLError:
    """What a literal made some converter raise is the literal's fault, like a number of five thousand digits."""
    return GraphQLError(error.message, nodes=error.nodes) if error.original_error else error
