from __future__ import annotations

from uuid import uuid4

import pytest

from touchline.kernel import Forbidden, Principal, Role, Scope, TenantId, UserId

VIEWER, EDITOR, ADMIN, OPERATOR = Role
READ, WRITE, MANAGE = Scope
EVERY_SCOPE = frozenset(Scope)


def principal(role: Role, scopes: frozenset[Scope] | None = None) -> Principal:
    return Principal(TenantId(uuid4()), UserId(uuid4()), role, scopes)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (VIEWER, {READ}),
        (EDITOR, {READ, WRITE}),
        (ADMIN, {READ, WRITE, MANAGE}),
        (OPERATOR, {READ, WRITE, MANAGE}),
    ],
)
def test_what_each_role_may_do(role: Role, allowed: set[Scope]) -> None:
    assert {scope for scope in Scope if principal(role).may(scope)} == allowed


@pytest.mark.parametrize(
    ("role", "scopes", "allowed"),
    [
        (ADMIN, {READ}, {READ}),
        (ADMIN, {WRITE}, {WRITE}),
        (ADMIN, set[Scope](), set[Scope]()),
        (VIEWER, EVERY_SCOPE, {READ}),
        (EDITOR, {READ, MANAGE}, {READ}),
    ],
)
def test_a_token_may_do_what_both_its_scopes_and_its_owner_may(
    role: Role, scopes: set[Scope], allowed: set[Scope]
) -> None:
    token = principal(role, frozenset(scopes))
    assert {scope for scope in Scope if token.may(scope)} == allowed


def test_each_role_includes_the_ones_before_it() -> None:
    order = [VIEWER, EDITOR, ADMIN, OPERATOR]
    for place, role in enumerate(order):
        assert [other for other in order if role.includes(other)] == order[: place + 1]


def test_require_refuses_and_says_as_what_you_act() -> None:
    principal(EDITOR).require(WRITE)
    with pytest.raises(Forbidden, match="viewer"):
        principal(VIEWER).require(WRITE)
