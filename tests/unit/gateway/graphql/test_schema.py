"""The schema is the one that the page is written against."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphql import (
    InputValueDefinitionNode,
    Node,
    NullValueNode,
    Visitor,
    build_ast_schema,
    lexicographic_sort_schema,
    parse,
    print_schema,
    visit,
)

from touchline.gateway.graphql.schema import build_schema
from touchline.gateway.graphql.settings import GraphqlSettings

WRITTEN = Path(__file__).parents[4] / "web" / "schema.graphql"


class Meaning(Visitor):
    """Without what people read, and without saying that what may be left out is null then."""

    def enter(self, node: Node, *_: object) -> Node:
        if isinstance(node, InputValueDefinitionNode) and isinstance(node.default_value, NullValueNode):
            node = replace(node, default_value=None)
        return replace(node, description=None) if getattr(node, "description", None) else node


def meaning(text: str) -> str:
    document = visit(parse(text), Meaning())
    return print_schema(lexicographic_sort_schema(build_ast_schema(document)))


def test_the_code_prints_the_schema_that_the_page_uses() -> None:
    printed = build_schema(GraphqlSettings()).as_str()
    assert meaning(printed) == meaning(WRITTEN.read_text("utf-8"))


def test_a_difference_is_noticed() -> None:
    one = "type Query { a(b: Int = null): Int }"
    assert meaning(one) == meaning('"What" type Query { a(b: Int): Int }')
    assert meaning(one) != meaning("type Query { a(b: Int = 1): Int }")
    assert meaning(one) != meaning("type Query { a(b: Int): Int! }")
