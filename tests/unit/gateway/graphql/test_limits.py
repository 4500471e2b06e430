from __future__ import annotations

from typing import Any

import pytest
from graphql import get_introspection_query, get_named_type, is_object_type, parse

from touchline.gateway.graphql.limits import Limits, Measure, measure
from touchline.gateway.graphql.schema import build_schema
from touchline.gateway.graphql.settings import GraphqlSettings
from touchline.kernel.errors import LimitExceeded

WIDE = Limits(depth=10, cost=10_000, aliases=10)


def measured(query: str, variables: dict[str, Any] | None = None, limits: Limits = WIDE) -> Measure:
    return measure(parse(query), variables or {}, limits)


@pytest.mark.parametrize(
    ("case", "query", "cost", "aliases"),
    [
        ("each field is one", "{ me { email name } }", 3, 0),
        ("a page counts its rows", "{ vodsConnection(page: {first: 7}) { edges { cursor } } }", 1 + 7 + 7, 0),
        ("a page without a size is a whole one", "{ vodsConnection { totalCount } }", 1 + 50, 0),
        ("backward too", "{ vodsConnection(page: {last: 3}) { totalCount } }", 1 + 3, 0),
        ("more than the largest page is refused later", "{ vodsConnection(page: {first: 9999}) { a } }", 501, 0),
        ("aliases", "{ a: me { b: email } c: me { name } }", 4, 3),
        ("fragments count wherever they are spread", "{ ...F ...F } fragment F on Query { a: me { email } }", 4, 2),
        ("inline fragments", "{ ... on Query { a: me { email } } }", 2, 1),
        ("all operations together", "query A { me { email } } query B { me { email } }", 4, 0),
        ("an unknown fragment is for validation", "{ me { email } ...Missing }", 2, 0),
    ],
)
def test_what_is_counted(case: str, query: str, cost: int, aliases: int) -> None:
    assert measured(query) == Measure(cost, aliases), case


@pytest.mark.parametrize(
    ("query", "variables", "rows"),
    [
        ("query ($n: Int) { vodsConnection(page: {first: $n}) { a } }", {"n": 9}, 9),
        ("query ($n: Int) { search(first: $n) { a } }", {"n": 9}, 9),
        ("{ search(first: 7) { a } }", {}, 7),
        ("{ search { a } }", {}, 50),
        ("query ($page: PageInput) { vodsConnection(page: $page) { a } }", {"page": {"first": 9}}, 9),
        ("query ($page: PageInput) { vodsConnection(page: $page) { a } }", {"page": {"last": 9}}, 9),
        ("query ($page: PageInput) { vodsConnection(page: $page) { a } }", {"page": {"first": "many"}}, 50),
        ("query ($page: PageInput) { vodsConnection(page: $page) { a } }", {"page": 7}, 50),
        ("query ($page: PageInput) { vodsConnection(page: $page) { a } }", {}, 50),
        ("query ($n: Int) { vodsConnection(page: {first: $n}) { a } }", {"n": -5}, 50),
    ],
)
def test_the_size_of_a_page_may_be_a_variable(query: str, variables: dict[str, Any], rows: int) -> None:
    assert measured(query, variables).cost == 1 + rows


def test_nested_pages_multiply() -> None:
    query = "{ aConnection(page: {first: 10}) { bConnection(page: {first: 20}) { c } } }"
    assert measured(query).cost == 1 + 10 + 200


@pytest.mark.parametrize(
    ("query", "limits", "what"),
    [
        ("{ a { b { c { d } } } }", Limits(3, 99, 9), "too deep"),
        ("{ a { ...F } } fragment F on T { b { ...G } } fragment G on T { c { d } }", Limits(3, 99, 9), "too deep"),
        ("{ a b c }", Limits(9, 2, 9), "too much"),
        ("{ x: a y: a z: a }", Limits(9, 99, 2), "too many aliases"),
        ("{ ...F ...F ...F } fragment F on T { x: a }", Limits(9, 99, 2), "too many aliases"),
    ],
)
def test_what_is_over_a_limit_is_refused(query: str, limits: Limits, what: str) -> None:
    with pytest.raises(LimitExceeded, match=what):
        measured(query, limits=limits)


def test_exactly_at_the_limit_passes() -> None:
    measured("{ a { b { c } } }", limits=Limits(3, 3, 0))


def test_a_short_document_that_expands_to_a_huge_one_costs_no_more_than_the_limit() -> None:
    doubling = "".join(f"fragment F{n} on T {{ ...F{n + 1} ...F{n + 1} }} " for n in range(60))
    with pytest.raises(LimitExceeded):
        measured(f"{{ ...F0 }} {doubling} fragment F60 on T {{ a }}")


def test_fragments_that_spread_each_other_do_not_go_on_for_ever() -> None:
    with pytest.raises(LimitExceeded):
        measured("{ ...A } fragment A on T { ...B } fragment B on T { ...A }")


def test_the_standard_introspection_passes() -> None:
    settings = GraphqlSettings()
    limits = Limits(settings.max_depth, settings.max_cost, settings.max_aliases)
    measured(get_introspection_query(input_value_deprecation=True, type_depth=9), limits=limits)


def test_pages_are_named_so_because_their_cost_goes_by_the_name() -> None:
    types = build_schema()._schema.type_map.values()
    fields = [(name, field) for kind in types if is_object_type(kind) for name, field in kind.fields.items()]
    for name, field in fields:
        is_page = get_named_type(field.type).name.endswith("Connection")
        assert name.endswith("Connection") == is_page == ("page" in field.args), name
