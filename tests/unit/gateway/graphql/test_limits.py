from __future__ import annotations

from typing import Any

import pytest
from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_introspection_query,
    get_named_type,
    is_object_type,
    parse,
    validate,
)
from graphql.validation.validate import ValidationAbortedError
from hypothesis import given, strategies as st

from touchline.gateway.graphql.limits import Measure, QueryLimits, measure
from touchline.gateway.graphql.schema import build_schema
from touchline.gateway.settings import GraphqlSettings
from touchline.kernel import LimitExceeded

WIDE = QueryLimits(depth=10, cost=10_000, aliases=10)


def measured(query: str, variables: dict[str, Any] | None = None, limits: QueryLimits = WIDE) -> Measure:
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
    found = measured(query)
    assert (found.cost, found.aliases) == (cost, aliases), case


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
        ("{ a { b { c { d } } } }", QueryLimits(3, 99, 9), "too deep"),
        (
            "{ a { ...F } } fragment F on T { b { ...G } } fragment G on T { c { d } }",
            QueryLimits(3, 99, 9),
            "too deep",
        ),
        ("{ a b c }", QueryLimits(9, 2, 9), "too expensive"),
        ("{ x: a y: a z: a }", QueryLimits(9, 99, 2), "too many aliases"),
        ("{ ...F ...F ...F } fragment F on T { x: a }", QueryLimits(9, 99, 2), "too many aliases"),
    ],
)
def test_what_is_over_a_limit_is_refused(query: str, limits: QueryLimits, what: str) -> None:
    with pytest.raises(LimitExceeded, match=what):
        measured(query, limits=limits)


def test_exactly_at_the_limit_passes() -> None:
    measured("{ a { b { c } } }", limits=QueryLimits(3, 3, 0))


def test_a_short_document_that_expands_to_a_huge_one_costs_no_more_than_the_limit() -> None:
    doubling = "".join(f"fragment F{n} on T {{ ...F{n + 1} ...F{n + 1} }} " for n in range(60))
    with pytest.raises(LimitExceeded):
        measured(f"{{ ...F0 }} {doubling} fragment F60 on T {{ a }}")


def doubling(levels: int, end: str) -> str:
    """Each fragment spreads the next one twice, and none has a field of its own."""
    chain = "".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }} " for n in range(levels))
    return f"{{ ...F0 }} {chain} fragment F{levels} on Query {{ {end} }}"


@pytest.mark.parametrize("end", ["...Missing", "__typename", "... { ...Missing }", "a: __typename"])
def test_fragments_that_double_are_measured_once_each(end: str) -> None:
    with pytest.raises(LimitExceeded):
        measured(doubling(90, end), limits=QueryLimits(10, 2**200, 2**200))


def test_what_spreads_alone_counts_as_size() -> None:
    """Whoever looks at what is asked for below a field goes through every spread of it."""
    assert measured(doubling(8, "...Missing")).selections == 3 * 2**8 - 1
    with pytest.raises(LimitExceeded, match="too large"):
        measured(doubling(14, "...Missing"))


def test_digits_without_end_are_a_large_page() -> None:
    assert measured(f"{{ search(first: {'9' * 5000}) {{ a }} }}").cost == 501


@pytest.mark.parametrize(
    "query",
    [
        "{ a: __schema { types { name } } b: __schema { types { name } } }",
        "{ __schema { types { a: fields { name } b: fields { name } } } }",
        "{ __schema { ...F ...F } } fragment F on __Schema { a: types { name } }",
    ],
)
def test_introspection_costs_what_it_answers(query: str) -> None:
    with pytest.raises(LimitExceeded, match="too expensive"):
        measured(query)


@given(st.data())
def test_the_measure_is_that_of_the_expanded_document(data: st.DataObject) -> None:
    """Fragments only spread later ones, so that writing them all out comes to an end."""
    leaf = st.sampled_from(["a", "x: b", "c { d }", "searchesConnection(page: {first: 3}) { e y: f }"])
    names = [f"F{n}" for n in range(data.draw(st.integers(0, 5)))]

    def body(after: int) -> str:
        later = st.sampled_from([f"...{name}" for name in names[after:]] or ["a"])
        return " ".join(data.draw(st.lists(st.one_of(leaf, later), min_size=1, max_size=4)))

    fragments = [f"fragment {name} on T {{ {body(n + 1)} }}" for n, name in enumerate(names)]
    document = parse(f"{{ {body(0)} }} {' '.join(fragments)}")
    wide = QueryLimits(100, 10**9, 10**9)
    found = measure(document, {}, wide)
    assert (found.cost, found.aliases) == expanded(document)


def expanded(document: DocumentNode) -> tuple[int, int]:
    """The slow way: everything written out."""
    fragments = {node.name.value: node for node in document.definitions if isinstance(node, FragmentDefinitionNode)}

    def of(selections: SelectionSetNode | None) -> tuple[int, int]:
        cost = aliases = 0
        for one in selections.selections if selections else ():
            if isinstance(one, FragmentSpreadNode):
                more = of(fragments[one.name.value].selection_set)
            else:
                assert isinstance(one, FieldNode)
                below, rows = of(one.selection_set), 3 if one.arguments else 1
                more = 1 + rows * below[0], (one.alias is not None) + below[1]
            cost, aliases = cost + more[0], aliases + more[1]
        return cost, aliases

    [operation] = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    return of(operation.selection_set)


def test_fields_that_are_named_again_and_again_are_not_compared_for_long() -> None:
    """Comparing each with each grows with the square: the library stops where our budget ends, and says so."""
    document = parse("{" + "me { email }" * 495 + "}")
    assert isinstance(validate(build_schema()._schema, document)[-1], ValidationAbortedError)
    assert not validate(build_schema()._schema, parse("{" + "me { email }" * 50 + "}"))


def test_fragments_that_spread_each_other_do_not_go_on_for_ever() -> None:
    with pytest.raises(LimitExceeded):
        measured("{ ...A } fragment A on T { ...B } fragment B on T { ...A }")


def test_the_standard_introspection_passes() -> None:
    settings = GraphqlSettings()
    limits = QueryLimits(settings.max_depth, settings.max_cost, settings.max_aliases)
    measured(get_introspection_query(input_value_deprecation=True, type_depth=9), limits=limits)


def test_pages_are_named_so_because_their_cost_goes_by_the_name() -> None:
    types = build_schema()._schema.type_map.values()
    fields = [(name, field) for kind in types if is_object_type(kind) for name, field in kind.fields.items()]
    for name, field in fields:
        is_page = get_named_type(field.type).name.endswith("Connection")
        assert name.endswith("Connection") == is_page == ("page" in field.args), name
