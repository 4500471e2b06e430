"""Administration of tenants, users and API tokens. Every change names its actor and is announced in its transaction.

Invariant: what an actor may not see does not exist; a change that changes nothing is no error and announces nothing.
Once there is a user, there is no first sign-in link any more, however many processes ask at the same time.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar
from uuid import UUID

from touchline.contracts.events import access as events
from touchline.contracts.tenants import Owner
from touchline.gateway.auth.sessions.rules import SessionEnding, valid_password
from touchline.gateway.auth.sessions.service import add_link, end_sessions, link_url
from touchline.gateway.settings import AuthSettings
from touchline.kernel import AlreadyExists, Clock, Role, TenantId, UserId, uuid7
from touchline.platform.postgres.database import Database, Transaction

from . import credentials, rules
from .store import AccessStore

Item = TypeVar("Item")
TenantChange = Callable[[AccessStore], Awaitable[rules.Tenant | None]]
FIRST = rules.ListWindow()


class Tenants:
    """For operators: they alone see more than one tenant."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create(self, actor: rules.Actor, slug: str, name: str) -> rules.Tenant:
        rules.require_operator(actor)
        slug, name = rules.valid_slug(slug), rules.valid_name(name)
        async with self._database.system("administer tenants") as transaction:
            tenant = await add_tenant(transaction, actor, slug, name, self._clock)
        if tenant is None:
            raise AlreadyExists(f"the tenant {slug} exists already", why="slugs are unique in an installation")
        return tenant

    async def listed(self, actor: rules.Actor, window: rules.ListWindow = FIRST) -> rules.ListPage[rules.Tenant]:
        rules.require_operator(actor)
        limit = rules.valid_limit(window.limit)
        async with self._database.system("administer tenants") as transaction:
            return _page(await AccessStore(transaction.connection).tenants(window.after, limit + 1), limit)

    async def by_slug(self, actor: rules.Actor, slug: str) -> rules.Tenant:
        rules.require_operator(actor)
        async with self._database.system("administer tenants") as transaction:
            return rules.existing_tenant(await AccessStore(transaction.connection).tenant_by_slug(slug))

    async def rename(self, actor: rules.Actor, tenant_id: TenantId, name: str) -> rules.Tenant:
        name = rules.valid_name(name)
        payload = events.TenantRenamed(tenant_id=tenant_id, by=actor.name, name=name)
        return await self._change(actor, payload, lambda store: store.rename_tenant(tenant_id, name))

    async def suspend(self, actor: rules.Actor, tenant_id: TenantId) -> rules.Tenant:
        """Its tokens and sessions are refused from now on; nothing is deleted."""
        payload = events.TenantSuspended(tenant_id=tenant_id, by=actor.name)
        return await self._change(actor, payload, lambda store: store.suspend_tenant(tenant_id, self._clock.now()))

    async def resume(self, actor: rules.Actor, tenant_id: TenantId) -> rules.Tenant:
        payload = events.TenantResumed(tenant_id=tenant_id, by=actor.name)
        return await self._change(actor, payload, lambda store: store.resume_tenant(tenant_id))

    async def embed_origins(self, tenant_id: TenantId) -> tuple[str, ...]:
        """Of a tenant that is not suspended. None of one that does not exist, by the same statement."""
        async with self._database.transaction(tenant_id) as transaction:
            tenant = await AccessStore(transaction.connection).tenant(tenant_id)
        return tenant.embed_origins if tenant and tenant.suspended_at is None else ()

    async def set_embed_origins(self, actor: rules.Actor, tenant_id: TenantId, origins: Sequence[str]) -> rules.Tenant:
        """The sites that may show videos of this tenant, to anybody. For its administrators."""
        rules.require_admin(actor, tenant_id)
        valid = rules.valid_origins(origins)
        payload = events.TenantEmbedOriginsChanged(tenant_id=tenant_id, by=actor.name, origins=valid)
        return await self._apply(payload, lambda store: store.set_embed_origins(tenant_id, valid))

    async def _change(self, actor: rules.Actor, payload: events.TenantPayload, change: TenantChange) -> rules.Tenant:
        rules.require_operator(actor)
        return await self._apply(payload, change)

    async def _apply(self, payload: events.TenantPayload, change: TenantChange) -> rules.Tenant:
        tenant_id = TenantId(payload.tenant_id)
        async with self._database.system("administer tenants") as transaction:
            store = AccessStore(transaction.connection)
            if changed := await change(store):
                transaction.announce(payload, revision=changed.revision, tenant_id=tenant_id)
            return rules.existing_tenant(changed or await store.tenant(tenant_id))


class Users:
    """For administrators of the tenant, and for operators in any tenant that they name."""

    def __init__(self, database: Database, passwords: credentials.Passwords, clock: Clock) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock

    async def create(self, actor: rules.Actor, tenant_id: TenantId, new: rules.NewUser) -> rules.User:
        rules.require_admin(actor, tenant_id)
        new = rules.checked_user(actor, new)
        async with self._database.transaction(tenant_id) as transaction:
            rules.existing_tenant(await AccessStore(transaction.connection).tenant(tenant_id))
            user = await add_user(transaction, actor, new, self._clock)
        if user is None:
            raise AlreadyExists(f"the user {new.email} exists already", why="an e-mail address can have one user only")
        return user

    async def listed(
        self, actor: rules.Actor, tenant_id: TenantId, window: rules.ListWindow = FIRST
    ) -> rules.ListPage[rules.User]:
        rules.require_admin(actor, tenant_id)
        limit = rules.valid_limit(window.limit)
        async with self._database.transaction(tenant_id) as transaction:
            return _page(await AccessStore(transaction.connection).users(window.after, limit + 1), limit)

    async def names(self, tenant_id: TenantId, actors: Iterable[str]) -> Mapping[str, str]:
        """Of those of a tenant's users who did something: colleagues see who it was, and nobody else's users."""
        users = {actor: user_id for actor in actors if (user_id := rules.user_of(actor))}
        if not users:
            return {}
        async with self._database.transaction(tenant_id) as transaction:
            found = await AccessStore(transaction.connection).names(list(users.values()))
        return {actor: found[user_id] for actor, user_id in users.items() if user_id in found}

    async def by_email(self, actor: rules.Actor, email: str) -> rules.User:
        """Operators find everybody, administrators everybody of their tenant."""
        async with self._database.transaction(rules.WITHOUT_TENANT) as transaction:
            store = AccessStore(transaction.connection)
            place = await store.find_user(email) if rules.is_email(email) else None
            if place is None or not rules.is_inside(actor, place[0]):
                return rules.existing_user(None)
            rules.require_admin(actor, place[0])
            await transaction.enter_tenant(place[0])
            return rules.existing_user(await store.user(place[1]))

    async def change_role(self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId, role: Role) -> rules.User:
        rules.require_admin(actor, tenant_id)
        rules.require_role_within_reach(actor, role)
        async with self._changing(actor, tenant_id, user_id) as (transaction, user):
            changed = await AccessStore(transaction.connection).set_role(user_id, role)
            if changed is None:
                return user
            payload = events.UserRoleChanged(user_id=user_id, by=actor.name, old_role=user.role, new_role=role)
            transaction.announce(payload, revision=changed.revision)
            return changed

    async def disable(self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId) -> rules.User:
        """Sessions end and tokens are refused; access tokens that are out live for their last minutes."""
        rules.require_admin(actor, tenant_id)
        now = self._clock.now()
        async with self._changing(actor, tenant_id, user_id) as (transaction, user):
            changed = await AccessStore(transaction.connection).disable_user(user_id, now)
            if changed is None:
                return user
            transaction.announce(events.UserDisabled(user_id=user_id, by=actor.name), revision=changed.revision)
            await end_sessions(transaction, user_id, SessionEnding.USER_DISABLED, actor.name, now)
            return changed

    async def enable(self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId) -> rules.User:
        rules.require_admin(actor, tenant_id)
        async with self._changing(actor, tenant_id, user_id) as (transaction, user):
            changed = await AccessStore(transaction.connection).enable_user(user_id)
            if changed is None:
                return user
            transaction.announce(events.UserEnabled(user_id=user_id, by=actor.name), revision=changed.revision)
            return changed

    async def set_password(self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId, password: str) -> rules.User:
        """Ends the user's sessions: whoever knew the old password is out."""
        rules.require_hold(actor, tenant_id, user_id)
        hashed = await self._passwords.hash(valid_password(password))
        async with self._changing(actor, tenant_id, user_id) as (transaction, _):
            changed = rules.existing_user(await AccessStore(transaction.connection).set_password(user_id, hashed))
            payload = events.UserPasswordChanged(user_id=user_id, by=actor.name)
            transaction.announce(payload, revision=changed.revision)
            await end_sessions(transaction, user_id, SessionEnding.PASSWORD_CHANGED, actor.name, self._clock.now())
            return changed

    @asynccontextmanager
    async def _changing(
        self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId
    ) -> AsyncGenerator[tuple[Transaction, rules.User]]:
        """The user, locked: what was decided about the role stays true until the change is made."""
        async with self._database.transaction(tenant_id) as transaction:
            user = rules.existing_user(await AccessStore(transaction.connection).user_locked(user_id))
            rules.require_role_within_reach(actor, user.role)
            yield transaction, user


class Tokens:
    """For each user their own, and for administrators everybody's."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def issue(
        self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId, new: rules.NewToken
    ) -> rules.IssuedToken:
        rules.require_hold(actor, tenant_id, user_id)
        now = self._clock.now()
        token_id = rules.TokenId(uuid7(now))
        text = credentials.new_api_token(token_id)
        async with self._database.transaction(tenant_id) as transaction:
            store = AccessStore(transaction.connection)
            user = rules.existing_user(await store.user_locked(user_id))
            new = rules.checked_token(actor, user, new, now)
            token = await store.add_token(user, token_id, new, credentials.fingerprint(text), now)
            payload = events.TokenIssued(
                token_id=token.id,
                user_id=user_id,
                by=actor.name,
                name=token.name,
                scopes=tuple(sorted(token.scopes)),
                expires_at=token.expires_at,
            )
            transaction.announce(payload, revision=token.revision)
        return rules.IssuedToken(token, text)

    async def listed(
        self, actor: rules.Actor, tenant_id: TenantId, user_id: UserId | None = None, window: rules.ListWindow = FIRST
    ) -> rules.ListPage[rules.ApiToken]:
        rules.require_hold(actor, tenant_id, user_id)
        limit = rules.valid_limit(window.limit)
        async with self._database.transaction(tenant_id) as transaction:
            return _page(await AccessStore(transaction.connection).tokens(user_id, window.after, limit + 1), limit)

    async def revoke(self, actor: rules.Actor, tenant_id: TenantId, token_id: rules.TokenId) -> rules.ApiToken:
        """Effective with the next request."""
        rules.require_inside(actor, tenant_id)
        async with self._database.transaction(tenant_id) as transaction:
            store = AccessStore(transaction.connection)
            token = rules.existing_token(await store.token(token_id))
            if not rules.is_own(actor, token.user_id):
                rules.require_admin(actor, tenant_id)
            changed = await store.revoke_token(token_id, self._clock.now())
            if changed is None:
                return token
            payload = events.TokenRevoked(token_id=token.id, user_id=token.user_id, by=actor.name)
            transaction.announce(payload, revision=changed.revision)
            return changed


async def add_tenant(
    transaction: Transaction, actor: rules.Actor, slug: str, name: str, clock: Clock
) -> rules.Tenant | None:
    """None when the slug is taken."""
    now = clock.now()
    tenant = await AccessStore(transaction.connection).add_tenant(TenantId(uuid7(now)), slug, name, now)
    if tenant is not None:
        payload = events.TenantCreated(tenant_id=tenant.id, by=actor.name, slug=slug, name=name)
        transaction.announce(payload, revision=tenant.revision, tenant_id=tenant.id)
    return tenant


async def add_user(transaction: Transaction, actor: rules.Actor, new: rules.NewUser, clock: Clock) -> rules.User | None:
    """None when the e-mail is known, here or in another tenant."""
    now = clock.now()
    user_id = UserId(uuid7(now))
    user = await AccessStore(transaction.connection).add_user(transaction.tenant_id, user_id, new, now)
    if user is not None:
        payload = events.UserCreated(user_id=user.id, by=actor.name, email=new.email, name=new.name, role=new.role)
        transaction.announce(payload, revision=user.revision)
    return user


def _page(found: Sequence[Item], limit: int) -> rules.ListPage[Item]:
    """One more than asked for was read: that is how we know that there is more."""
    return rules.ListPage(found[:limit], more=len(found) > limit)


# --- The first user of an installation: one operator and one sign-in link, for whoever asks first.

FIRST_SLUG = "default"
FIRST_OPERATOR = rules.NewUser("admin@localhost", "Administrator", Role.OPERATOR)


async def first_sign_in_link(database: Database, base_url: str, settings: AuthSettings, clock: Clock) -> str | None:
    """The link, once; None when somebody already exists. When it is lost: `touchline users link admin@localhost`."""
    async with database.system("make the first operator") as transaction:
        store = AccessStore(transaction.connection)
        if await store.any_user():
            return None
        await add_tenant(transaction, rules.INSTALLATION, FIRST_SLUG, "Default", clock)
        tenant = rules.existing_tenant(await store.tenant_by_slug(FIRST_SLUG))
        await transaction.enter_tenant(tenant.id)
        # Who comes second waits here for the first one, and finds the e-mail taken.
        user = await add_user(transaction, rules.INSTALLATION, FIRST_OPERATOR, clock)
        if user is None:
            return None
        link = await add_link(transaction, rules.INSTALLATION, user, settings.first_link_lifetime, clock)
    return link_url(base_url, link)


async def suspended_tenants(database: Database) -> frozenset[TenantId]:
    async with database.system("find suspended tenants") as transaction:
        return frozenset(await AccessStore(transaction.connection).suspended_tenants())


# --- The owner of something that arrived without a caller: a tenant and the first of its users.
# A suspended tenant and one without users own nothing new.


class TenantOwners:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def named(self, tenant: str) -> Owner | None:
        async with self._database.system("find the owner of an object") as transaction:
            store = AccessStore(transaction.connection)
            found = await store.tenant_by_slug(tenant) or await _by_id(store, tenant)
            return await _owner(store, found)

    async def first(self) -> Owner | None:
        async with self._database.system("find the owner of an object") as transaction:
            store = AccessStore(transaction.connection)
            return await _owner(store, await store.first_tenant())


async def _by_id(store: AccessStore, text: str) -> rules.Tenant | None:
    try:
        return await store.tenant(TenantId(UUID(text)))
    except ValueError:
        return None


async def _owner(store: AccessStore, tenant: rules.Tenant | None) -> Owner | None:
    if tenant is None or tenant.suspended_at is not None:
        return None
    user_id = await store.first_user(tenant.id)
    return Owner(tenant.id, user_id) if user_id else None
