"""The cases of a GraphQL schema: every field of queries and mutations, with all that can be selected below it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLInputField,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_enum_type,
    is_input_object_type,
    is_interface_type,
    is_leaf_type,
    is_list_type,
    is_non_null_type,
    is_required_argument,
    is_union_type,
)

from .arguments import HARMLESS, harmless, id_kind, snake_case
from .leaves import Leaf, built, variations
from .matrix import Case, Ids

Execute = Callable[[str, dict[str, Any]], Awaitable[Any]]
Arguments = Mapping[str, GraphQLArgument] | Mapping[str, GraphQLInputField]
DEEPEST = 5
SIMPLE: dict[str, Any] = {"Int": 1, "Float": 1000, "Boolean": False}


def graphql_cases(schema: GraphQLSchema, execute: Execute) -> Iterator[Case]:
    for root, kind in ((schema.query_type, "query"), (schema.mutation_type, "mutation")):
        for name, field in (root.fields if root else {}).items():
            for variation, leaves in variations(list(argument_leaves(name, field.args))):
                run = runner(operation(kind, name, field, schema), leaves, execute)
                yield Case(f"{kind.capitalize()}.{name}{variation}", any(leaf.id_kind for leaf in leaves), run)


def runner(document: str, leaves: list[Leaf], execute: Execute) -> Callable[[Ids], Awaitable[Any]]:
    async def run(ids: Ids) -> Any:
        return await execute(document, built(leaves, ids))

    return run


def argument_leaves(
    owner: str, arguments: Arguments, path: tuple[str, ...] = (), within: tuple[str, ...] | None = None
) -> Iterator[Leaf]:
    for name, argument in arguments.items():
        kind, required, here = get_named_type(argument.type), is_non_null_type(argument.type), (*path, name)
        if is_input_object_type(kind):
            outer = within if within or required else here
            yield from argument_leaves(kind.name, kind.fields, here, outer)
            continue
        wanted = id_kind(owner, name)
        example = None if wanted else _example(owner, name, kind)
        listed = is_list_type(get_nullable_type(argument.type))
        yield Leaf(here, wanted, example, required, within, listed)


def operation(kind: str, name: str, field: GraphQLField, schema: GraphQLSchema) -> str:
    declared = ", ".join(f"${argument}: {one.type}" for argument, one in field.args.items())
    given = ", ".join(f"{argument}: ${argument}" for argument in field.args)
    call = f"{name}({given})" if given else name
    return f"{kind}{f'({declared})' if declared else ''} {{ {call} {selection(get_named_type(field.type), schema)} }}"


def selection(kind: GraphQLNamedType, schema: GraphQLSchema, depth: int = 0) -> str:
    """Everything below a type."""
    if is_leaf_type(kind):
        return ""
    if is_union_type(kind) or is_interface_type(kind):
        members = (f"... on {one.name} {_fields(one, schema, depth)}" for one in schema.get_possible_types(kind))
        return f"{{ __typename {' '.join(members)} }}"
    assert isinstance(kind, GraphQLObjectType)
    return _fields(kind, schema, depth)


def _fields(kind: GraphQLObjectType, schema: GraphQLSchema, depth: int) -> str:
    """Fields with arguments are asked for without them, where they can be. Aliases: members of a union may differ."""
    chosen: list[str] = []
    for name, field in kind.fields.items():
        needs_arguments = any(map(is_required_argument, field.args.values()))
        assert not needs_arguments, f"{kind.name}.{name} needs arguments: teach the matrix to give them"
        below = get_named_type(field.type)
        if is_leaf_type(below) or depth < DEEPEST:
            chosen.append(f"{kind.name}_{name}: {name} {selection(below, schema, depth + 1)}")
    return f"{{ __typename {' '.join(chosen)} }}"


def _example(owner: str, name: str, kind: GraphQLNamedType) -> Any:
    if is_enum_type(kind):
        return next(iter(kind.values))
    if kind.name in SIMPLE and snake_case(name) not in HARMLESS:
        return SIMPLE[kind.name]
    return harmless(owner, name)
