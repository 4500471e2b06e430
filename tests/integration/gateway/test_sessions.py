"""Signing in, staying, leaving."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest
from psycopg import AsyncCursor

from touchline.gateway.auth.rules import COMMAND_LINE
from touchline.gateway.auth.sessions.rules import SignedIn
from touchline.gateway.auth.sessions.service import PasswordAttempt, remove_ended_sessions
from touchline.kernel import Conflict, RateLimited, Role, SessionOver, Unauthenticated

from .conftest import PASSWORD, SETTINGS, World


def attempt(email: str, password: str = PASSWORD, address: str = "192.0.2.1") -> PasswordAttempt:
    return PasswordAttempt(email, address, password)


async def outcomes(*coroutines: Awaitable[SignedIn]) -> list[Any]:
    return await asyncio.gather(*coroutines, return_exceptions=True)


async def test_a_link_signs_in_and_is_announced(world: World) -> None:
    user = await world.user(Role.EDITOR)
    signed_in = await world.sign_in(user)
    principal = await world.auth.authentication.authenticate(signed_in.access_token)
    assert (principal.tenant_id, principal.user_id, principal.role) == (world.ours.id, user.id, Role.EDITOR)
    assert principal.scopes is None
    assert await world.auth.sessions.describe(principal) == (user, world.ours)
    assert signed_in.access_expires_at == world.clock.now() + SETTINGS.access_lifetime
    [(_, _, issued)] = [event for event in await world.events(f"user:{user.id}") if event[0] == "user.link_issued"]
    assert issued["by"] == "cli"
    opened = {"session_id": str(signed_in.session.id), "user_id": str(user.id), "by": str(user.id), "method": "link"}
    assert await world.events(f"session:{signed_in.session.id}") == [("session.opened", 1, opened)]


async def test_of_twenty_that_use_one_link_at_once_one_signs_in(world: World) -> None:
    user = await world.user()
    link = await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    results = await outcomes(*(world.auth.sessions.sign_in_by_link(link.secret) for _ in range(20)))
    assert sum(isinstance(result, SignedIn) for result in results) == 1
    assert sum(isinstance(result, Unauthenticated) for result in results) == 19
    assert len([event for event in await world.events() if event[0] == "session.opened"]) == 1


async def test_a_link_expires(world: World) -> None:
    user = await world.user()
    link = await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    world.later(seconds=SETTINGS.link_lifetime.total_seconds())
    with pytest.raises(Unauthenticated, match="not valid"):
        await world.auth.sessions.sign_in_by_link(link.secret)


async def test_a_link_that_nobody_made_says_the_same_as_a_used_one(world: World) -> None:
    user = await world.user()
    link = await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    await world.auth.sessions.sign_in_by_link(link.secret)
    never_made = ("", "tll_", "tll_" + "A" * 43, "tll_" + "A" * 42 + "\u00e9", "' OR 1=1 --")
    results = await outcomes(*(world.auth.sessions.sign_in_by_link(one) for one in (link.secret, *never_made)))
    assert {type(result) for result in results} == {Unauthenticated}
    assert len({(str(result), result.hint) for result in results}) == 1


async def test_no_secret_is_stored_as_it_is(world: World) -> None:
    user = await world.user()
    link = await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    signed_in = await world.auth.sessions.sign_in_by_link(link.secret)
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    content = await everything(world)
    assert signed_in.session_secret
    for secret in (link.secret, signed_in.session_secret, PASSWORD, signed_in.access_token):
        assert secret not in content
        assert secret.removeprefix("tll_").removeprefix("tls_") not in content


async def everything(world: World) -> str:
    """All that the application itself can read of this tenant, the keys and the log."""
    names = ("users", "api_tokens", "sign_in_links", "sessions", "session_secrets", "signing_keys")
    rows: list[str] = []
    async with world.database.transaction(world.ours.id) as transaction:
        for name in names:
            statement = f"SELECT t::text FROM access.{name} AS t"  # noqa: S608  a name from above
            cursor = await transaction.connection.execute(statement.encode())
            rows += [row[0] for row in await cursor.fetchall()]
    assert len(rows) >= len(names) - 1
    return "\n".join([*rows, str(await world.events())])


async def test_refreshing_replaces_the_secret_and_moves_the_end(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    world.later(days=1)
    assert signed_in.session_secret
    refreshed = await world.auth.sessions.refresh(signed_in.session_secret)
    assert refreshed.session_secret not in {None, signed_in.session_secret}
    assert refreshed.session.id == signed_in.session.id
    assert refreshed.session.expires_at == world.clock.now() + SETTINGS.session_idle
    await world.auth.authentication.authenticate(refreshed.access_token)


async def test_no_session_outlives_the_longest_life(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    end = world.clock.now() + SETTINGS.session_lifetime
    for _ in range(5):
        world.later(days=5.9)
        assert signed_in.session_secret
        signed_in = await world.auth.sessions.refresh(signed_in.session_secret)
    assert signed_in.session.expires_at == end
    world.clock.advance(end - world.clock.now())
    assert signed_in.session_secret
    with pytest.raises(Unauthenticated, match="the session expired"):
        await world.auth.sessions.refresh(signed_in.session_secret)


async def test_a_replaced_secret_that_comes_back_ends_the_session_for_both(world: World) -> None:
    stolen = await world.sign_in(await world.user())
    assert stolen.session_secret
    world.later(minutes=5)
    rightful = await world.auth.sessions.refresh(stolen.session_secret)
    world.later(minutes=5)
    assert rightful.session_secret
    assert (await world.auth.sessions.refresh(rightful.session_secret)).session_secret
    world.later(minutes=5)
    for secret in (stolen.session_secret, rightful.session_secret):
        with pytest.raises(SessionOver, match="used in two places"):
            await world.auth.sessions.refresh(secret)
    types = [(kind, revision) for kind, revision, _ in await world.events(f"session:{stolen.session.id}")]
    assert types == [("session.opened", 1), ("session.ended", 2)]
    assert (await world.events(f"session:{stolen.session.id}"))[1][2]["because"] == "secret_reused"


async def test_tabs_that_refresh_at_once_stay_signed_in(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    secret = signed_in.session_secret
    assert secret
    results = await asyncio.gather(*(world.auth.sessions.refresh(secret) for _ in range(20)))
    fresh = [result.session_secret for result in results if result.session_secret]
    assert len(fresh) == 1
    for result in results:
        await world.auth.authentication.authenticate(result.access_token)
    world.later(minutes=1)
    assert await world.auth.sessions.refresh(fresh[0])


async def test_a_thief_is_noticed_whoever_of_the_two_comes_first(world: World) -> None:
    """Both showed the same secret before either showed what it was answered with."""
    user = await world.user()
    for thief_is_first in (True, False):
        signed_in = await world.sign_in(user)
        copied = signed_in.session_secret or ""
        answers = [await world.auth.sessions.refresh(copied)]
        world.later(minutes=1)
        answers.append(await world.auth.sessions.refresh(copied))
        first, second = (answer.session_secret or "" for answer in answers[:: 1 if thief_is_first else -1])
        assert first != second
        assert (await world.auth.sessions.refresh(first)).session_secret
        world.later(minutes=1)
        with pytest.raises(SessionOver, match="used in two places"):
            await world.auth.sessions.refresh(second)
        with pytest.raises(SessionOver):
            await world.auth.sessions.refresh(first)


async def test_quick_reloads_whose_answers_never_arrive_sign_nobody_out(world: World) -> None:
    """The browser keeps the secret that it has; whenever it comes back, it is answered with one that counts."""
    secret = (await world.sign_in(await world.user())).session_secret or ""
    for _ in range(3):
        await asyncio.gather(*(world.auth.sessions.refresh(secret) for _ in range(15)))  # all of them aborted
        world.later(minutes=10)
        answer = await world.auth.sessions.refresh(secret)  # lost as well
        await world.auth.authentication.authenticate(answer.access_token)
        assert answer.session_secret
        world.later(minutes=10)
    arrived = (await world.auth.sessions.refresh(secret)).session_secret
    assert arrived
    assert (await world.auth.sessions.refresh(arrived)).session_secret
    world.later(minutes=1)
    with pytest.raises(SessionOver, match="used in two places"):
        await world.auth.sessions.refresh(secret)


async def test_tabs_whose_answers_cross_keep_whichever_came_last(world: World) -> None:
    secret = (await world.sign_in(await world.user())).session_secret or ""
    answers = [await world.auth.sessions.refresh(secret)]
    world.clock.advance(SETTINGS.refresh_grace)
    answers.append(await world.auth.sessions.refresh(secret))
    kept = answers[0].session_secret or ""  # the older answer was slower
    assert (await world.auth.sessions.refresh(kept)).session_secret


async def test_a_tab_that_comes_a_moment_after_the_new_secret_is_no_thief(world: World) -> None:
    """It sent the old one before the browser had the new one, and arrived after it."""
    secret = (await world.sign_in(await world.user())).session_secret or ""
    fresh = (await world.auth.sessions.refresh(secret)).session_secret or ""
    world.later(minutes=5)
    assert (await world.auth.sessions.refresh(fresh)).session_secret
    world.clock.advance(SETTINGS.refresh_grace / 2)
    late = await world.auth.sessions.refresh(secret)
    assert late.session_secret is None
    await world.auth.authentication.authenticate(late.access_token)
    world.clock.advance(SETTINGS.refresh_grace)
    with pytest.raises(SessionOver, match="used in two places"):
        await world.auth.sessions.refresh(secret)


async def test_without_grace_an_old_secret_is_a_thief_at_once(world: World) -> None:
    secret = (await world.sign_in(await world.user())).session_secret or ""
    strict = world.process(SETTINGS.model_copy(update={"refresh_grace": SETTINGS.refresh_grace * 0}))
    fresh = (await strict.sessions.refresh(secret)).session_secret or ""
    assert await strict.sessions.refresh(fresh)
    with pytest.raises(SessionOver, match="used in two places"):
        await strict.sessions.refresh(secret)


async def test_signing_out_ends_the_session_and_can_be_said_twice(world: World) -> None:
    signed_in = await world.sign_in(await world.user())
    secret = signed_in.session_secret
    assert secret
    for said in (secret, secret, "tls_" + "A" * 43, "nonsense"):
        await world.auth.sessions.sign_out(said)
    with pytest.raises(Unauthenticated):
        await world.auth.sessions.refresh(secret)
    ended = [data for kind, _, data in await world.events() if kind == "session.ended"]
    assert [data["because"] for data in ended] == ["signed_out"]


async def test_a_password_signs_in(world: World) -> None:
    user = await world.user(email="Ada@Example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    signed_in = await world.auth.sessions.sign_in_by_password(attempt("ada@example.ORG"))
    assert signed_in.user.id == user.id
    assert ("session.opened", 1) in [(kind, revision) for kind, revision, _ in await world.events()]


async def test_a_wrong_password_and_a_wrong_user_say_the_same(world: World) -> None:
    user = await world.user(email="known@example.org")
    await world.user(email="without@example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    emails = ("known@example.org", "unknown@example.org", "without@example.org", "no e-mail\x00 at all")
    results = await outcomes(
        *(world.auth.sessions.sign_in_by_password(attempt(email, "something else")) for email in emails)
    )
    assert {(type(result), str(result)) for result in results} == {
        (Unauthenticated, "you cannot sign in: the e-mail address or the password is wrong")
    }


async def guessed(world: World, times: int, email: str = "ada@example.org") -> None:
    """By strangers from many places."""
    for number in range(times):
        with pytest.raises(Unauthenticated):
            await world.auth.sessions.sign_in_by_password(attempt(email.upper(), "wrong", f"192.0.2.{number}"))


async def test_guesses_at_an_account_slow_down_and_lock_nobody_out(world: World) -> None:
    user = await world.user(email="ada@example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    await guessed(world, SETTINGS.attempts_per_email)
    for wait in (1, 2, 4):
        for _ in range(3):  # what comes too early does not make it worse
            with pytest.raises(RateLimited, match=f"wait {wait} s"):
                await world.auth.sessions.sign_in_by_password(attempt("ada@example.org", address="192.0.2.99"))
        world.later(seconds=wait)
        with pytest.raises(Unauthenticated):
            await world.auth.sessions.sign_in_by_password(attempt("ada@example.org", "wrong", address="192.0.2.99"))
    world.clock.advance(SETTINGS.longest_wait)
    assert await world.auth.sessions.sign_in_by_password(attempt("ada@example.org"))


async def test_a_browser_that_somebody_signed_in_from_does_not_wait_for_strangers(world: World) -> None:
    user = await world.user(email="ada@example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    by_link = await world.sign_in(user)
    by_password = await world.auth.sessions.sign_in_by_password(attempt("ada@example.org"))
    await guessed(world, SETTINGS.attempts_per_email)
    for device in (by_link.device, by_password.device):
        known = replace(attempt("ada@example.org"), device=device or "")
        assert (await world.auth.sessions.sign_in_by_password(known)).user.id == user.id
    with pytest.raises(RateLimited):
        await world.auth.sessions.sign_in_by_password(attempt("ada@example.org", address="192.0.2.98"))
    with pytest.raises(RateLimited):
        unknown = replace(attempt("ada@example.org"), device="A" * 107)
        await world.auth.sessions.sign_in_by_password(unknown)


async def test_a_known_browser_has_a_limit_of_its_own(world: World) -> None:
    """Whoever has taken it over guesses no faster than others."""
    user = await world.user(email="ada@example.org")
    device = (await world.sign_in(user)).device or ""
    wrong = replace(attempt("ada@example.org", "wrong"), device=device)
    for _ in range(SETTINGS.attempts_per_email):
        with pytest.raises(Unauthenticated):
            await world.auth.sessions.sign_in_by_password(wrong)
    with pytest.raises(RateLimited):
        await world.auth.sessions.sign_in_by_password(wrong)
    with pytest.raises(Unauthenticated):
        await world.auth.sessions.sign_in_by_password(attempt("ada@example.org", "wrong"))


async def test_guesses_from_one_address_slow_down(world: World) -> None:
    limit = SETTINGS.attempts_per_address
    tries = [attempt(f"user{number}@example.org", "wrong") for number in range(limit)]
    results = await outcomes(*(world.auth.sessions.sign_in_by_password(one) for one in tries))
    assert {type(result) for result in results} == {Unauthenticated}
    with pytest.raises(RateLimited):
        await world.auth.sessions.sign_in_by_password(attempt("another@example.org"))


async def test_an_unknown_e_mail_costs_the_statements_of_a_known_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = await world.user(email="known@example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    seen: dict[str, list[str]] = {}
    execute = AsyncCursor.execute
    for email in ("known@example.org", "unknown@example.org"):
        statements = seen.setdefault(email, [])

        async def noted(self: Any, query: Any, *rest: Any, to: list[str] = statements, **named: Any) -> Any:
            to.append(str(query))
            return await execute(self, query, *rest, **named)

        with monkeypatch.context() as patched:
            patched.setattr(AsyncCursor, "execute", noted)
            await outcomes(world.auth.sessions.sign_in_by_password(attempt(email, "wrong")))
    assert seen["known@example.org"] == seen["unknown@example.org"]


async def test_success_forgets_the_failures(world: World) -> None:
    user = await world.user(email="ada@example.org")
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    for password in ("wrong", PASSWORD, "wrong", "wrong", PASSWORD):
        results = await outcomes(world.auth.sessions.sign_in_by_password(attempt("ada@example.org", password)))
        assert isinstance(results[0], SignedIn if password == PASSWORD else Unauthenticated)


async def test_a_disabled_user_is_out_and_stays_out_until_enabled(world: World) -> None:
    user = await world.user()
    signed_in = await world.sign_in(user)
    link = await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    await world.auth.administration.users.disable(COMMAND_LINE, user.tenant_id, user.id)
    with pytest.raises(Unauthenticated):
        await world.auth.sessions.refresh(signed_in.session_secret or "")
    with pytest.raises(Unauthenticated, match="disabled"):
        await world.auth.sessions.sign_in_by_link(link.secret)
    with pytest.raises(Conflict, match="disabled"):
        await world.auth.administration.links.issue(COMMAND_LINE, user.tenant_id, user.id)
    await world.auth.administration.users.enable(COMMAND_LINE, user.tenant_id, user.id)
    assert await world.auth.sessions.sign_in_by_link(link.secret)
    with pytest.raises(Unauthenticated):
        await world.auth.sessions.refresh(signed_in.session_secret or "")
    kinds = [kind for kind, _, _ in await world.events(f"session:{signed_in.session.id}")]
    assert kinds == ["session.opened", "session.ended"]


async def test_a_new_password_ends_the_sessions(world: World) -> None:
    user = await world.user()
    signed_in = await world.sign_in(user)
    await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, PASSWORD)
    with pytest.raises(Unauthenticated):
        await world.auth.sessions.refresh(signed_in.session_secret or "")


async def test_a_suspended_tenant_is_refused_and_resumes_where_it_was(world: World) -> None:
    user, neighbour = await world.user(), await world.user(tenant=world.theirs)
    signed_in, other = await world.sign_in(user), await world.sign_in(neighbour)
    await world.auth.administration.tenants.suspend(COMMAND_LINE, world.ours.id)
    with pytest.raises(Unauthenticated, match="suspended"):
        await world.auth.sessions.refresh(signed_in.session_secret or "")
    with pytest.raises(Unauthenticated, match="suspended"):
        await world.sign_in(user)
    principal = await world.auth.authentication.authenticate(signed_in.access_token)
    with pytest.raises(Unauthenticated, match="suspended"):
        await world.auth.sessions.describe(principal)
    assert await world.auth.sessions.refresh(other.session_secret or "")
    await world.auth.administration.tenants.resume(COMMAND_LINE, world.ours.id)
    assert await world.auth.sessions.refresh(signed_in.session_secret or "")


async def test_a_changed_role_comes_with_the_next_refresh(world: World) -> None:
    user = await world.user(Role.ADMIN)
    signed_in = await world.sign_in(user)
    await world.auth.administration.users.change_role(COMMAND_LINE, user.tenant_id, user.id, Role.VIEWER)
    refreshed = await world.auth.sessions.refresh(signed_in.session_secret or "")
    assert (await world.auth.authentication.authenticate(refreshed.access_token)).role is Role.VIEWER


async def test_upkeep_removes_what_is_over_and_nothing_else(world: World) -> None:
    user = await world.user()
    await world.sign_in(user)
    await outcomes(world.auth.sessions.sign_in_by_password(attempt("x@example.org")))
    world.clock.advance(SETTINGS.session_idle + SETTINGS.keep_ended)
    fresh = await world.sign_in(user)
    removed = await remove_ended_sessions(world.database, SETTINGS, world.clock)
    assert (removed.links, removed.sessions, removed.keys, removed.attempts) == (1, 0, 0, 2)
    world.later(seconds=1)
    assert (await remove_ended_sessions(world.database, SETTINGS, world.clock)).sessions == 1
    assert await world.auth.sessions.refresh(fresh.session_secret or "")
    world.clock.advance(SETTINGS.key_lifetime + SETTINGS.keep_ended)
    removed = await remove_ended_sessions(world.database, SETTINGS, world.clock)
    assert (removed.links, removed.sessions, removed.keys, removed.attempts) == (1, 1, 1, 0)
