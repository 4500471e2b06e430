"""Holds every operation to the limits, before it is validated and long before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension

from touchline.kernel import TouchlineError
from touchline.kernel.errors import InvalidInput

from .context import Context
from .limits import Limits, measure


class Guard(SchemaExtension):
    @property
    def _context(self) -> Context:
        return cast("Context", self.execution_context.context)

    def on_operation(self) -> Iterator[None]:
        self.execution_context.parse_options["max_tokens"] = self._context.parts.settings.max_tokens
        yield

    def on_validate(self) -> Iterator[None]:
        """An error that is there already keeps the rest of validation from running."""
        try:
            self._check()
        except TouchlineError as error:
            self.execution_context.pre_execution_errors = [GraphQLError(str(error), original_error=error)]
        yield

    def _check(self) -> None:
        execution, settings = self.execution_context, self._context.parts.settings
        if execution.operation_type not in self._context.operations:
            why = "subscriptions go over graphql-transport-ws, queries and mutations over POST"
            raise InvalidInput("this operation does not pass here", why=why)
        if execution.graphql_document is not None:
            limits = Limits(settings.max_depth, settings.max_cost, settings.max_aliases)
            measure(execution.graphql_document, execution.variables or {}, limits)
