"""Who may do what to whom, that nobody sees over the wall, and that every act is in the log."""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime, timedelta
from uuid import uuid4

import pytest

from touchline.gateway.auth.rules import (
    COMMAND_LINE,
    Actor,
    ApiToken,
    IssuedToken,
    ListWindow,
    NewToken,
    NewUser,
    TokenId,
    User,
)
from touchline.kernel import (
    AlreadyExists,
    Forbidden,
    InvalidInput,
    NotFound,
    Principal,
    Role,
    Scope,
    TenantId,
    TouchlineError,
    Unauthenticated,
    UserId,
)

from .conftest import PASSWORD, SETTINGS, World

READ = frozenset({Scope.READ})
ALL = frozenset(Scope)


def session_of(user: User) -> Actor:
    return Actor.of(Principal(user.tenant_id, user.id, user.role))


async def issue(
    world: World, user: User, scopes: frozenset[Scope] = READ, expires_at: datetime | None = None
) -> IssuedToken:
    new = NewToken("a program", scopes, expires_at)
    return await world.auth.administration.tokens.issue(COMMAND_LINE, user.tenant_id, user.id, new)


async def answer(act: Awaitable[object]) -> tuple[type[BaseException], str, str]:
    with pytest.raises(TouchlineError) as caught:
        await act
    return type(caught.value), str(caught.value), caught.value.hint


# --- tenants


async def test_tenants_live_and_every_act_is_in_the_log(world: World) -> None:
    tenants = world.auth.administration.tenants
    tenant = await tenants.create(COMMAND_LINE, "club", " The Club ")
    assert (tenant.slug, tenant.name, tenant.suspended_at) == ("club", "The Club", None)
    assert (await tenants.rename(COMMAND_LINE, tenant.id, "New")).name == "New"
    assert (await tenants.suspend(COMMAND_LINE, tenant.id)).suspended_at == world.clock.now()
    assert (await tenants.resume(COMMAND_LINE, tenant.id)).suspended_at is None
    assert [(kind, revision, data["by"]) for kind, revision, data in await world.events(f"tenant:{tenant.id}")] == [
        ("tenant.created", 1, "cli"),
        ("tenant.renamed", 2, "cli"),
        ("tenant.suspended", 3, "cli"),
        ("tenant.resumed", 4, "cli"),
    ]


async def test_what_changes_nothing_announces_nothing(world: World) -> None:
    tenants, users = world.auth.administration.tenants, world.auth.administration.users
    user = await world.user()
    before = await world.events()
    await tenants.rename(COMMAND_LINE, world.ours.id, world.ours.name)
    await tenants.resume(COMMAND_LINE, world.ours.id)
    await users.change_role(COMMAND_LINE, user.tenant_id, user.id, user.role)
    await users.enable(COMMAND_LINE, user.tenant_id, user.id)
    assert await world.events() == before
    assert await tenants.by_slug(COMMAND_LINE, "ours") == world.ours


async def test_a_slug_is_unique_and_shaped(world: World) -> None:
    tenants = world.auth.administration.tenants
    with pytest.raises(AlreadyExists):
        await tenants.create(COMMAND_LINE, "ours", "Again")
    for slug in ("", "Ours", "-a", "a-", "a" * 64, "a b", "a\u00e9"):
        with pytest.raises(InvalidInput):
            await tenants.create(COMMAND_LINE, slug, "Name")


async def test_tenants_are_the_operators_business(world: World) -> None:
    tenants = world.auth.administration.tenants
    admin, operator = await world.user(Role.ADMIN), await world.user(Role.OPERATOR)
    reading = Actor.of(Principal(operator.tenant_id, operator.id, operator.role, READ))
    for actor in (session_of(admin), reading):
        for act in (
            tenants.create(actor, "x", "X"),
            tenants.listed(actor),
            tenants.by_slug(actor, "ours"),
            tenants.rename(actor, world.ours.id, "X"),
            tenants.suspend(actor, world.ours.id),
            tenants.resume(actor, world.ours.id),
        ):
            with pytest.raises(Forbidden):
                await act
    assert [tenant.slug for tenant in (await tenants.listed(session_of(operator))).items] == ["ours", "theirs"]


async def test_lists_come_in_pages(world: World) -> None:
    tenants = world.auth.administration.tenants
    first = await tenants.listed(COMMAND_LINE, ListWindow(limit=1))
    rest = await tenants.listed(COMMAND_LINE, ListWindow(limit=1, after=first.items[0].id))
    assert (first.items, first.more) == ([world.ours], True)
    assert (rest.items, rest.more) == ([world.theirs], False)
    for limit in (0, 501):
        with pytest.raises(InvalidInput):
            await tenants.listed(COMMAND_LINE, ListWindow(limit))


# --- users


async def test_users_live_and_every_act_is_in_the_log(world: World) -> None:
    users = world.auth.administration.users
    user = await users.create(COMMAND_LINE, world.ours.id, NewUser(" Ada@Example.org ", "Ada", Role.EDITOR))
    assert (user.email, user.role, user.has_password) == ("Ada@Example.org", Role.EDITOR, False)
    assert await users.by_email(COMMAND_LINE, "ADA@example.ORG") == user
    place = (user.tenant_id, user.id)
    assert (await users.change_role(COMMAND_LINE, *place, Role.ADMIN)).role is Role.ADMIN
    assert (await users.disable(COMMAND_LINE, *place)).disabled_at == world.clock.now()
    assert (await users.enable(COMMAND_LINE, *place)).disabled_at is None
    assert (await users.set_password(COMMAND_LINE, *place, PASSWORD)).has_password
    events = await world.events(f"user:{user.id}")
    assert [(kind, revision) for kind, revision, _ in events] == [
        ("user.created", 1),
        ("user.role_changed", 2),
        ("user.disabled", 3),
        ("user.enabled", 4),
        ("user.password_changed", 5),
    ]
    assert events[1][2] == {"user_id": str(user.id), "by": "cli", "old_role": "editor", "new_role": "admin"}
    assert (await users.listed(COMMAND_LINE, world.ours.id)).items == [await users.by_email(COMMAND_LINE, user.email)]
    assert (await users.listed(COMMAND_LINE, world.theirs.id)).items == []


async def test_an_email_is_known_once_in_the_whole_installation(world: World) -> None:
    await world.user(email="ada@example.org")
    for tenant, email in ((world.ours, "ADA@example.org"), (world.theirs, "ada@EXAMPLE.org")):
        with pytest.raises(AlreadyExists):
            await world.user(tenant=tenant, email=email)
    for email in ("", "ada", "a b@example.org", "a@b@c", "ada@", "x" * 251 + "@b.c", "a\x00@b.c", "a,b@c.d"):
        with pytest.raises(InvalidInput):
            await world.auth.administration.users.create(COMMAND_LINE, world.ours.id, NewUser(email, "A", Role.VIEWER))


async def test_nobody_reaches_above_the_own_role(world: World) -> None:
    users = world.auth.administration.users
    admin, operator = await world.user(Role.ADMIN), await world.user(Role.OPERATOR)
    editor = await world.user(Role.EDITOR)
    actor, top = session_of(admin), (operator.tenant_id, operator.id)
    for act in (
        users.create(actor, world.ours.id, NewUser("x@example.org", "X", Role.OPERATOR)),
        users.change_role(actor, admin.tenant_id, admin.id, Role.OPERATOR),
        users.change_role(actor, *top, Role.VIEWER),
        users.disable(actor, *top),
        users.enable(actor, *top),
        users.set_password(actor, *top, PASSWORD),
        world.auth.administration.links.issue(actor, *top),
        world.auth.administration.tokens.issue(actor, *top, NewToken("x", READ)),
        users.create(session_of(editor), world.ours.id, NewUser("x@example.org", "X", Role.VIEWER)),
        users.listed(session_of(editor), world.ours.id),
        users.by_email(session_of(editor), admin.email),
        world.auth.administration.links.issue(session_of(editor), admin.tenant_id, admin.id),
        users.set_password(session_of(editor), admin.tenant_id, admin.id, PASSWORD),
    ):
        with pytest.raises(Forbidden):
            await act
    assert await users.create(actor, world.ours.id, NewUser("x@example.org", "X", Role.ADMIN))


async def test_a_password_needs_some_length(world: World) -> None:
    user = await world.user()
    for password in ("short", "x" * 1025):
        with pytest.raises(InvalidInput):
            await world.auth.administration.users.set_password(COMMAND_LINE, user.tenant_id, user.id, password)


async def test_an_operator_acts_in_the_tenant_that_is_named(world: World) -> None:
    operator = session_of(await world.user(Role.OPERATOR))
    user = await world.auth.administration.users.create(
        operator, world.theirs.id, NewUser("new@example.org", "New", Role.ADMIN)
    )
    assert user.tenant_id == world.theirs.id
    [created] = [data for kind, _, data in await world.events(f"user:{user.id}") if kind == "user.created"]
    assert created["by"] == operator.name


# --- the wall


async def test_another_tenants_ids_answer_exactly_like_unknown_ones(world: World) -> None:
    """For an administrator: ids of the neighbours and ids that nobody has, in their tenant and in none."""
    administration = world.auth.administration
    actor = session_of(await world.user(Role.ADMIN))
    neighbour = await world.user(Role.VIEWER, world.theirs)
    foreign_token = (await issue(world, neighbour)).token
    ours, theirs, no_tenant = world.ours.id, world.theirs.id, TenantId(uuid4())
    no_user, no_token = UserId(uuid4()), TokenId(uuid4())

    def acts(tenant_id: TenantId, user_id: UserId, token_id: TokenId) -> list[Awaitable[object]]:
        return [
            administration.users.change_role(actor, tenant_id, user_id, Role.EDITOR),
            administration.users.disable(actor, tenant_id, user_id),
            administration.users.enable(actor, tenant_id, user_id),
            administration.users.set_password(actor, tenant_id, user_id, PASSWORD),
            administration.links.issue(actor, tenant_id, user_id),
            administration.tokens.issue(actor, tenant_id, user_id, NewToken("x", READ)),
            administration.tokens.revoke(actor, tenant_id, token_id),
        ]

    inside = [await answer(act) for act in acts(ours, neighbour.id, foreign_token.id)]
    assert inside == [await answer(act) for act in acts(ours, no_user, no_token)]
    outside = [await answer(act) for act in acts(theirs, neighbour.id, foreign_token.id)]
    assert outside == [await answer(act) for act in acts(no_tenant, no_user, no_token)]
    assert {kind for kind, _, _ in [*inside, *outside]} == {NotFound}
    assert await answer(administration.users.by_email(actor, neighbour.email)) == await answer(
        administration.users.by_email(actor, "nobody@example.org")
    )
    assert await answer(administration.users.listed(actor, theirs)) == await answer(
        administration.users.listed(actor, no_tenant)
    )
    assert (await administration.tokens.listed(actor, ours, neighbour.id)).items == []


# --- tokens


async def test_tokens_live_and_every_act_is_in_the_log(world: World) -> None:
    user = await world.user(Role.EDITOR)
    issued = await issue(world, user, frozenset({Scope.READ, Scope.WRITE}))
    assert issued.text not in repr(issued)
    principal = await world.auth.authentication.authenticate(issued.text)
    assert principal == Principal(user.tenant_id, user.id, Role.EDITOR, frozenset({Scope.READ, Scope.WRITE}))
    tokens = world.auth.administration.tokens
    revoked = await tokens.revoke(COMMAND_LINE, user.tenant_id, issued.token.id)
    assert revoked.revoked_at == world.clock.now()
    assert await tokens.revoke(COMMAND_LINE, user.tenant_id, issued.token.id) == revoked
    with pytest.raises(Unauthenticated, match="revoked"):
        await world.auth.authentication.authenticate(issued.text)
    [created, ended] = await world.events(f"token:{issued.token.id}")
    assert (created[0], created[1], created[2]["scopes"]) == ("token.issued", 1, ["read", "write"])
    assert (ended[0], ended[1], ended[2]["by"]) == ("token.revoked", 2, "cli")


async def test_a_token_is_stored_as_its_hash_only(world: World) -> None:
    issued = await issue(world, await world.user())
    async with world.database.transaction(world.ours.id) as transaction:
        cursor = await transaction.connection.execute("SELECT t::text FROM access.api_tokens AS t")
        [(row,)] = await cursor.fetchall()
    assert str(issued.token.id) in row
    assert issued.text not in row
    assert issued.text.rsplit("_", 1)[1] not in row


async def test_scopes_never_reach_above_the_users_role(world: World) -> None:
    most = {Role.VIEWER: 1, Role.EDITOR: 2, Role.ADMIN: 3, Role.OPERATOR: 3}
    for role, allowed in most.items():
        user = await world.user(role)
        for scope in (Scope.READ, Scope.WRITE, Scope.ADMIN)[:allowed]:
            assert (await issue(world, user, frozenset({scope}))).token.scopes == {scope}
        for scope in (Scope.READ, Scope.WRITE, Scope.ADMIN)[allowed:]:
            with pytest.raises(Forbidden, match=scope):
                await issue(world, user, frozenset({Scope.READ, scope}))


async def test_a_token_shrinks_with_its_user(world: World) -> None:
    user = await world.user(Role.ADMIN)
    issued = await issue(world, user, ALL)
    assert (await world.auth.authentication.authenticate(issued.text)).may(Scope.ADMIN)
    await world.auth.administration.users.change_role(COMMAND_LINE, user.tenant_id, user.id, Role.VIEWER)
    principal = await world.auth.authentication.authenticate(issued.text)
    assert [principal.may(scope) for scope in Scope] == [True, False, False]


async def test_people_make_their_own_tokens_and_tokens_make_none(world: World) -> None:
    user, colleague = await world.user(Role.EDITOR), await world.user(email="colleague@example.org")
    tokens = world.auth.administration.tokens
    own = await tokens.issue(session_of(user), user.tenant_id, user.id, NewToken("mine", READ))
    by_token = Actor.of(await world.auth.authentication.authenticate(own.text))
    for act in (
        tokens.issue(by_token, user.tenant_id, user.id, NewToken("child", READ)),
        tokens.revoke(by_token, user.tenant_id, own.token.id),
        tokens.listed(by_token, user.tenant_id, user.id),
        tokens.issue(session_of(user), user.tenant_id, colleague.id, NewToken("theirs", READ)),
        tokens.listed(session_of(user), user.tenant_id),
        tokens.revoke(session_of(colleague), user.tenant_id, own.token.id),
    ):
        with pytest.raises(Forbidden):
            await act
    assert (await tokens.listed(session_of(user), user.tenant_id, user.id)).items == [
        await find_token(world, own.token.id)
    ]
    assert (await tokens.revoke(session_of(user), user.tenant_id, own.token.id)).revoked_at


async def find_token(world: World, token_id: TokenId) -> ApiToken:
    listing = await world.auth.administration.tokens.listed(COMMAND_LINE, world.ours.id)
    return next(token for token in listing.items if token.id == token_id)


async def test_a_token_with_the_admin_scope_gives_no_more_than_it_has(world: World) -> None:
    admin = await world.user(Role.ADMIN)
    actor = Actor.of(Principal(admin.tenant_id, admin.id, Role.ADMIN, frozenset({Scope.ADMIN})))
    tokens = world.auth.administration.tokens
    with pytest.raises(Forbidden, match="read"):
        await tokens.issue(actor, admin.tenant_id, admin.id, NewToken("wider", ALL))
    assert await tokens.issue(actor, admin.tenant_id, admin.id, NewToken("same", frozenset({Scope.ADMIN})))


async def test_tokens_expire(world: World) -> None:
    user = await world.user()
    issued = await issue(world, user, expires_at=world.clock.now() + timedelta(hours=1))
    world.later(minutes=59)
    await world.auth.authentication.authenticate(issued.text)
    world.later(minutes=1)
    with pytest.raises(Unauthenticated, match="expired"):
        await world.auth.authentication.authenticate(issued.text)
    with pytest.raises(InvalidInput):
        await issue(world, user, expires_at=world.clock.now())
    with pytest.raises(InvalidInput):
        await issue(world, user, frozenset())


async def test_disabling_and_suspending_refuse_tokens_at_once(world: World) -> None:
    administration, user = world.auth.administration, await world.user()
    issued = await issue(world, user)
    await administration.users.disable(COMMAND_LINE, user.tenant_id, user.id)
    with pytest.raises(Unauthenticated, match="disabled"):
        await world.auth.authentication.authenticate(issued.text)
    await administration.users.enable(COMMAND_LINE, user.tenant_id, user.id)
    await administration.tenants.suspend(COMMAND_LINE, world.ours.id)
    with pytest.raises(Unauthenticated, match="suspended"):
        await world.auth.authentication.authenticate(issued.text)
    await administration.tenants.resume(COMMAND_LINE, world.ours.id)
    assert await world.auth.authentication.authenticate(issued.text)


async def test_the_last_use_is_recorded_once_a_minute(world: World) -> None:
    issued = await issue(world, await world.user())
    start = world.clock.now()
    seen = []
    for _ in range(5):
        await world.auth.authentication.authenticate(issued.text)
        seen.append((await find_token(world, issued.token.id)).last_used_at)
        world.later(seconds=SETTINGS.last_used_every.total_seconds() / 2)
    half = SETTINGS.last_used_every / 2
    assert seen == [start, start, start + 2 * half, start + 2 * half, start + 4 * half]


async def test_a_token_that_nobody_issued_is_refused(world: World) -> None:
    for text in ("tl_", "tl_x_y", "tl_" + "0" * 32 + "_" + "A" * 43):
        with pytest.raises(Unauthenticated, match="API token"):
            await world.auth.authentication.authenticate(text)
