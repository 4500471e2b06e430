"""Who may do what: the same table for people, for tokens and for the command line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.auth import rules
from touchline.gateway.auth.rules import COMMAND_LINE, Actor, FoundToken, NewToken, TokenId, User
from touchline.kernel import Forbidden, InvalidInput, NotFound, Principal, Role, Scope, TenantId, TouchlineError, UserId

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
OURS, THEIRS = TenantId(UUID(int=1)), TenantId(UUID(int=2))
ADA, BOB = UserId(UUID(int=3)), UserId(UUID(int=4))
READ, ADMIN, ALL = frozenset({Scope.READ}), frozenset({Scope.ADMIN}), frozenset(Scope)


def actor(role: Role, scopes: frozenset[Scope] | None = None) -> Actor:
    return Actor.of(Principal(OURS, ADA, role, scopes))


def user(role: Role) -> User:
    return User(OURS, BOB, "bob@example.org", "Bob", role, False, NOW, None, 1)


def outcome(act: object, *arguments: object) -> type[TouchlineError] | None:
    assert callable(act)
    try:
        act(*arguments)
    except TouchlineError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("case", "who", "at_home", "abroad", "operating"),
    [
        ("the command line", COMMAND_LINE, None, None, None),
        ("an operator", actor(Role.OPERATOR), None, None, None),
        ("an operator's full token", actor(Role.OPERATOR, ALL), None, None, None),
        ("an operator's reading token", actor(Role.OPERATOR, READ), Forbidden, NotFound, Forbidden),
        ("an administrator", actor(Role.ADMIN), None, NotFound, Forbidden),
        ("an administrator's token", actor(Role.ADMIN, ADMIN), None, NotFound, Forbidden),
        ("an administrator's reading token", actor(Role.ADMIN, READ), Forbidden, NotFound, Forbidden),
        ("an editor", actor(Role.EDITOR), Forbidden, NotFound, Forbidden),
        ("an editor whose token says admin", actor(Role.EDITOR, ALL), Forbidden, NotFound, Forbidden),
        ("a viewer", actor(Role.VIEWER), Forbidden, NotFound, Forbidden),
    ],
)
def test_who_administers_what(
    case: str,
    who: Actor,
    at_home: type[TouchlineError] | None,
    abroad: type[TouchlineError] | None,
    operating: type[TouchlineError] | None,
) -> None:
    assert outcome(rules.require_admin, who, OURS) is at_home, case
    assert outcome(rules.require_admin, who, THEIRS) is abroad, case
    assert outcome(rules.require_operator, who) is operating, case


@given(st.sampled_from(Role), st.sampled_from(Role))
def test_nobody_reaches_a_role_above_the_own(own: Role, other: Role) -> None:
    expected = None if own.rank >= other.rank else Forbidden
    assert outcome(rules.require_role_within_reach, actor(own), other) is expected
    assert outcome(rules.require_role_within_reach, COMMAND_LINE, other) is None


@pytest.mark.parametrize(
    ("case", "who", "own", "others"),
    [
        ("a person", actor(Role.VIEWER), None, Forbidden),
        ("a person's token", actor(Role.VIEWER, READ), Forbidden, Forbidden),
        ("an administrator", actor(Role.ADMIN), None, None),
        ("an administrator's token", actor(Role.ADMIN, ADMIN), None, None),
        ("the command line", COMMAND_LINE, None, None),
    ],
)
def test_who_holds_what_lets_people_act_as_a_user(
    case: str, who: Actor, own: type[TouchlineError] | None, others: type[TouchlineError] | None
) -> None:
    assert outcome(rules.require_hold, who, OURS, ADA) is own, case
    assert outcome(rules.require_hold, who, OURS, BOB) is others, case
    assert outcome(rules.require_hold, who, OURS, None) is others, case


@given(st.sampled_from(Role), st.sampled_from(Role), st.frozensets(st.sampled_from(Scope), min_size=1))
def test_a_token_never_says_more_than_its_user_and_its_issuer_may(
    issuer: Role, role: Role, scopes: frozenset[Scope]
) -> None:
    who, whose = actor(issuer), user(role)
    as_user = Principal(OURS, BOB, role)
    assert who.principal is not None
    allowed = issuer.includes(role) and all(as_user.may(scope) and who.principal.may(scope) for scope in scopes)
    assert (outcome(rules.checked_token, who, whose, NewToken("x", scopes), NOW) is None) is allowed


FOUND = FoundToken(OURS, TokenId(ADA), ADA, Role.VIEWER, READ, None, None, None, None, None)


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (FOUND, ""),
        (replace(FOUND, expires_at=NOW + timedelta(seconds=1)), ""),
        (replace(FOUND, expires_at=NOW), "expired"),
        (replace(FOUND, revoked_at=NOW), "revoked"),
        (replace(FOUND, disabled_at=NOW), "disabled"),
        (replace(FOUND, suspended_at=NOW), "suspended"),
    ],
)
def test_why_a_token_is_refused(found: FoundToken, why: str) -> None:
    assert why in rules.refusal(found, NOW)
    assert bool(rules.refusal(found, NOW)) is bool(why)


@given(st.text())
def test_any_text_is_a_name_an_email_and_a_slug_or_refused(text: str) -> None:
    for check in (rules.valid_name, rules.valid_email, rules.valid_slug):
        if outcome(check, text) is not InvalidInput:
            accepted = check(text)
            assert accepted.isprintable()
            assert accepted == check(accepted)
