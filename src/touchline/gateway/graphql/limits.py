"""What an operation asks for, measured before anything is done about it: depth, cost, aliases. Pure.

Invariant: fragments count wherever they are spread, and measuring itself ends as soon as a limit is passed, so that a
short document that expands to a huge one costs no more than the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)

from touchline.kernel.errors import LimitExceeded

from .pages import LARGEST_PAGE, PAGE_SIZE

MOST_NESTED = 100  # fragments within fragments: well below what Python can recurse
INTROSPECTION = ("__schema", "__type")  # their depth is watched by a rule of graphql-core
COUNTED = ("search", "searchSuggestions", "sessionBreakdown", "sessionLeaders")  # pages without the connection's form
HINT = "Ask for less at once, or in several requests."


@dataclass(frozen=True, slots=True)
class Limits:
    depth: int
    cost: int
    aliases: int


@dataclass(frozen=True, slots=True)
class Measure:
    cost: int
    aliases: int


@dataclass(frozen=True, slots=True)
class _Place:
    depth: int = 1
    nested: int = 0
    rows: int = 1  # how often what is here is asked for
    introspection: bool = False


def measure(document: DocumentNode, variables: Mapping[str, Any], limits: Limits) -> Measure:
    """Of all operations together, because all of them are validated. Raises LimitExceeded."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}
    meter = _Meter(fragments, variables, limits)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            meter.enter(definition.selection_set, _Place())
    return Measure(meter.cost, meter.aliases)


class _Meter:
    def __init__(
        self, fragments: Mapping[str, FragmentDefinitionNode], variables: Mapping[str, Any], limits: Limits
    ) -> None:
        self._fragments = fragments
        self._variables = variables
        self._limits = limits
        self.cost = 0
        self.aliases = 0

    def enter(self, selections: SelectionSetNode | None, place: _Place) -> None:
        if place.nested > MOST_NESTED or (place.depth > self._limits.depth and not place.introspection):
            raise LimitExceeded("the operation is too deep", why=f"the limit is {self._limits.depth}", hint=HINT)
        for selection in selections.selections if selections else ():
            self._select(selection, place)

    def _select(self, selection: SelectionNode, place: _Place) -> None:
        match selection:
            case FieldNode():
                self._field(selection, place)
            case InlineFragmentNode():
                self.enter(selection.selection_set, _inside(place))
            case FragmentSpreadNode() if fragment := self._fragments.get(selection.name.value):
                self.enter(fragment.selection_set, _inside(place))
            case _:
                pass  # a fragment that is not there: validation says so

    def _field(self, field: FieldNode, place: _Place) -> None:
        self.cost += place.rows
        self.aliases += field.alias is not None
        if self.cost > self._limits.cost:
            raise LimitExceeded("the operation asks for too much", why=f"the limit is {self._limits.cost}", hint=HINT)
        if self.aliases > self._limits.aliases:
            raise LimitExceeded("the operation has too many aliases", why=f"the limit is {self._limits.aliases}")
        if field.selection_set:
            rows = place.rows * self._page_size(field)
            introspection = place.introspection or field.name.value in INTROSPECTION
            self.enter(field.selection_set, _Place(place.depth + 1, place.nested + 1, rows, introspection))

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
        return int(value.value) if isinstance(value, IntValueNode) else None


def _inside(place: _Place) -> _Place:
    return _Place(place.depth, place.nested + 1, place.rows, place.introspection)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
