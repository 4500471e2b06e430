"""Limits on operations: depth, cost, aliases and size, measured before an operation is validated or run.

Invariant: fragments count wherever they are spread, and each is measured once, so that the time grows with the document
and not with what it expands to. Most of it is spent in a thread, so that the loop goes on answering others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    IntValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    TokenKind,
    ValueNode,
    VariableNode,
    validate,
)
from graphql.validation.rules import overlapping_fields_can_be_merged
from strawberry.extensions import SchemaExtension
from strawberry.schema.validation_rules.maybe_null import MaybeNullValidationRule
from strawberry.schema.validation_rules.one_of import OneOfInputValidationRule
from strawberry.types.execution import ParseOptions

from touchline.kernel import InvalidInput, LimitExceeded, TouchlineError, is_text

from .context import RequestContext
from .pages import LARGEST_PAGE, PAGE_SIZE

MOST_NESTED = 100  # fragments within fragments: well below what Python can recurse
MOST_SELECTIONS = 10_000  # of the expanded document: whoever looks at what is asked for walks through them
MOST_ERRORS = 20  # of one document; each may look for names that are nearly the same
COMPARISON_BUDGET = 50_000  # what checking that fields of one name agree may cost: some 0.1 s
INTROSPECTION = ("__schema", "__type")  # their depth is watched by a rule of graphql-core
INTROSPECTION_COST = 5_000  # about as many fields as the whole schema answers for each alias
COUNTED = ("search", "searchSuggestions", "sessionBreakdown", "sessionLeaders")  # pages without the connection's form
HINT = "Request less at once, or split it into several requests."
# The library's own knob, read at every validation; its default would let one document take most of a second.
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = COMPARISON_BUDGET


@dataclass(frozen=True, slots=True)
class QueryLimits:
    depth: int
    cost: int
    aliases: int


@dataclass(frozen=True, slots=True)
class Measure:
    """Of some selections, each asked for once."""

    cost: int = 0
    aliases: int = 0
    depth: int = 0
    selections: int = 0

    def __add__(self, other: Measure) -> Measure:
        return Measure(
            self.cost + other.cost,
            self.aliases + other.aliases,
            max(self.depth, other.depth),
            self.selections + other.selections,
        )


ONE_MORE = Measure(selections=1)


def measure(document: DocumentNode, variables: Mapping[str, Any], limits: QueryLimits) -> Measure:
    """Of all operations together, because all of them are validated. Raises LimitExceeded."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    meter = _Meter(fragments, variables)
    operations = (node for node in document.definitions if isinstance(node, OperationDefinitionNode))
    found = sum((meter.of_set(operation.selection_set) for operation in operations), Measure())
    _require_within(found, limits)
    return found


def _require_within(found: Measure, limits: QueryLimits) -> None:
    if found.depth > limits.depth:
        raise LimitExceeded("the operation is too deep", why=f"the limit is {limits.depth}", hint=HINT)
    if found.aliases > limits.aliases:
        raise LimitExceeded("the operation has too many aliases", why=f"the limit is {limits.aliases}", hint=HINT)
    if found.cost > limits.cost:
        raise LimitExceeded("the operation is too expensive", why=f"the limit is {limits.cost}", hint=HINT)
    if found.selections > MOST_SELECTIONS:
        why = f"with all fragments it has more than {MOST_SELECTIONS} selections"
        raise LimitExceeded("the operation is too large", why=why, hint=HINT)


class _Meter:
    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode], variables: Mapping[str, Any]) -> None:
        self._fragments = fragments
        self._variables = variables
        self._measured: dict[tuple[str, bool], Measure] = {}
        self._nested = 0

    def of_set(self, selections: SelectionSetNode | None, *, introspection: bool = False) -> Measure:
        if self._nested > MOST_NESTED:  # also fragments that spread each other
            raise LimitExceeded("the operation is too deep", why=f"the limit is {MOST_NESTED} fragments", hint=HINT)
        self._nested += 1
        inside = (self._of(selection, introspection) for selection in (selections.selections if selections else ()))
        found = sum(inside, Measure(depth=0 if introspection else 1))
        self._nested -= 1
        return found

    def _of(self, selection: SelectionNode, introspection: bool) -> Measure:
        match selection:
            case FieldNode():
                return self._of_field(selection, introspection)
            case InlineFragmentNode():
                return self.of_set(selection.selection_set, introspection=introspection) + ONE_MORE
            case FragmentSpreadNode() if selection.name.value in self._fragments:
                return self._of_fragment(selection.name.value, introspection) + ONE_MORE
            case _:
                return ONE_MORE  # a fragment that is not there: validation says so

    def _of_fragment(self, name: str, introspection: bool) -> Measure:
        if (name, introspection) not in self._measured:
            found = self.of_set(self._fragments[name].selection_set, introspection=introspection)
            self._measured[name, introspection] = found
        return self._measured[name, introspection]

    def _of_field(self, field: FieldNode, introspection: bool) -> Measure:
        begins = field.name.value in INTROSPECTION
        costly = begins or (introspection and field.alias is not None)
        own = Measure(INTROSPECTION_COST if costly else 1, int(field.alias is not None), 0, 1)
        if not field.selection_set:
            return own
        inside = self.of_set(field.selection_set, introspection=introspection or begins)
        rows, level = self._page_size(field), 0 if introspection or begins else 1
        return own + Measure(rows * inside.cost, inside.aliases, inside.depth + level, inside.selections)

    def _page_size(self, field: FieldNode) -> int:
        """How many rows a field stands for: connections are named so and take a `page`; others say how many `first`."""
        given = {argument.name.value: argument.value for argument in field.arguments or ()}
        if field.name.value in COUNTED:
            sizes = [self._number(given.get("first"))]
        elif field.name.value.endswith("Connection"):
            sizes = [self._member(given.get("page"), name) for name in ("first", "last")]
        else:
            return 1
        return min(max((size for size in sizes if size is not None), default=PAGE_SIZE), LARGEST_PAGE)

    def _member(self, value: ValueNode | None, name: str) -> int | None:
        """What a page says, whether written out or given as a variable."""
        if isinstance(value, VariableNode):
            given = self._variables.get(value.name.value)
            return _whole(given.get(name)) if isinstance(given, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if not isinstance(value, ObjectValueNode):
            return None
        member = next((field.value for field in value.fields if field.name.value == name), None)
        return self._number(member)

    def _number(self, value: ValueNode | None) -> int | None:
        if isinstance(value, VariableNode):
            return _whole(self._variables.get(value.name.value))
        return _digits(value.value) if isinstance(value, IntValueNode) else None


def _digits(text: str) -> int:
    """More digits than a page has are refused later; Python itself refuses to read some thousands of them."""
    return int(text) if len(text) <= len(str(LARGEST_PAGE)) else LARGEST_PAGE


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


# --- Enforcement, for HTTP and live connections alike.

TEXTS = (TokenKind.STRING, TokenKind.BLOCK_STRING)
OWN_RULES = (
    MaybeNullValidationRule,
    OneOfInputValidationRule,
)  # strawberry's, in addition to those of the specification


class OperationLimits(SchemaExtension):
    @property
    def _context(self) -> RequestContext:
        return cast("RequestContext", self.execution_context.context)

    def on_operation(self) -> Iterator[None]:
        settings = self._context.composition.settings
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
        execution, settings = self.execution_context, self._context.composition.settings
        if execution.operation_type not in self._context.operations:
            why = "subscriptions go over graphql-transport-ws, queries and mutations over POST"
            raise InvalidInput("this kind of operation is not supported here", why=why)
        if execution.graphql_document is not None:
            _require_texts(execution.graphql_document)
            limits = QueryLimits(settings.max_depth, settings.max_cost, settings.max_aliases)
            measure(execution.graphql_document, execution.variables or {}, limits)


def _require_texts(document: DocumentNode) -> None:
    """Of the literals; variables were looked at when they came in."""
    token = document.loc.start_token if document.loc else None
    while token is not None:
        if token.kind in TEXTS and not is_text(token.value or ""):
            why = "it has an unpaired surrogate or a NUL character"
            raise InvalidInput("a string in the document is not valid text", why=why)
        token = token.next


def _about_the_document(error: GraphQLError) -> GraphQLError:
    """What a literal made some converter raise is the literal's fault, like a number of five thousand digits."""
    return GraphQLError(error.message, nodes=error.nodes) if error.original_error else error
