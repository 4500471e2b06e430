"""All SQL of tenants, users and API tokens. Changes of tenants run on a system transaction, the rest inside one tenant.

Invariant: every change raises `revision` and is guarded by the state it leaves; what did not apply comes back as None.

All SQL of sign-in links, sessions, signing keys and attempts.

Invariant: a link is used once, whoever comes at the same time. A session is locked before its secrets change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.gateway.auth.rules import IssuedLink
from touchline.gateway.auth.sessions import rules
from touchline.kernel import Role, Scope, TenantId, UserId
from touchline.platform.postgres.database import fetch_all, fetch_one

from .rules import ApiToken, FoundToken, NewToken, NewUser, Tenant, TokenId, User

# ruff: noqa: S105, S608  statements, not secrets; what is put into them is a constant list of columns


_TENANT: LiteralString = "tenant_id AS id, slug, name, created_at, suspended_at, embed_origins, revision"
_USER: LiteralString = """tenant_id, id, email, name, role, password_hash IS NOT NULL AS has_password,
       created_at, disabled_at, revision"""
_TOKEN: LiteralString = """tenant_id, id, user_id, name, scopes, created_at, expires_at,
       last_used_at, revoked_at, revision"""

# --- tenants

ADD_TENANT: LiteralString = f"""
INSERT INTO access.tenants (tenant_id, slug, name, created_at) VALUES (%(id)s, %(slug)s, %(name)s, %(now)s)
ON CONFLICT (slug) DO NOTHING
RETURNING {_TENANT}
"""
TENANT: LiteralString = f"SELECT {_TENANT} FROM access.tenants WHERE tenant_id = %(id)s"
TENANT_BY_SLUG: LiteralString = f"SELECT {_TENANT} FROM access.tenants WHERE slug = %(slug)s"
TENANTS: LiteralString = f"""
SELECT {_TENANT} FROM access.tenants WHERE tenant_id > %(after)s ORDER BY tenant_id LIMIT %(limit)s
"""
FIRST_TENANT: LiteralString = f"SELECT {_TENANT} FROM access.tenants ORDER BY tenant_id LIMIT 1"
RENAME_TENANT: LiteralString = f"""
UPDATE access.tenants SET name = %(name)s, revision = revision + 1
 WHERE tenant_id = %(id)s AND name <> %(name)s
RETURNING {_TENANT}
"""
SUSPEND_TENANT: LiteralString = f"""
UPDATE access.tenants SET suspended_at = %(now)s, revision = revision + 1
 WHERE tenant_id = %(id)s AND suspended_at IS NULL
RETURNING {_TENANT}
"""
RESUME_TENANT: LiteralString = f"""
UPDATE access.tenants SET suspended_at = NULL, revision = revision + 1
 WHERE tenant_id = %(id)s AND suspended_at IS NOT NULL
RETURNING {_TENANT}
"""

SET_EMBED_ORIGINS: LiteralString = f"""
UPDATE access.tenants SET embed_origins = %(origins)s, revision = revision + 1
 WHERE tenant_id = %(id)s AND embed_origins <> %(origins)s
RETURNING {_TENANT}
"""
SUSPENDED: LiteralString = "SELECT tenant_id AS value FROM access.tenants WHERE suspended_at IS NOT NULL"

# --- users

ADD_USER: LiteralString = f"""
INSERT INTO access.users (tenant_id, id, email, name, role, created_at)
VALUES (%(tenant_id)s, %(id)s, %(email)s, %(name)s, %(role)s, %(now)s)
ON CONFLICT (lower(email)) DO NOTHING
RETURNING {_USER}
"""
ANY_USER: LiteralString = "SELECT true AS value FROM access.users LIMIT 1"
FIRST_USER: LiteralString = "SELECT id AS value FROM access.users WHERE tenant_id = %(id)s ORDER BY id LIMIT 1"
FIND_USER: LiteralString = "SELECT tenant_id, id FROM access.find_user(%(email)s)"
USER: LiteralString = f"SELECT {_USER} FROM access.users WHERE id = %(id)s"
USER_LOCKED: LiteralString = f"{USER} FOR UPDATE"
USERS: LiteralString = f"SELECT {_USER} FROM access.users WHERE id > %(after)s ORDER BY id LIMIT %(limit)s"
NAMES: LiteralString = "SELECT id, name FROM access.users WHERE id = ANY (%(ids)s::uuid[])"
PASSWORD_HASH: LiteralString = "SELECT password_hash AS value FROM access.users WHERE id = %(id)s"
SET_ROLE: LiteralString = f"""
UPDATE access.users SET role = %(role)s, revision = revision + 1
 WHERE id = %(id)s AND role <> %(role)s
RETURNING {_USER}
"""
DISABLE_USER: LiteralString = f"""
UPDATE access.users SET disabled_at = %(now)s, revision = revision + 1
 WHERE id = %(id)s AND disabled_at IS NULL
RETURNING {_USER}
"""
ENABLE_USER: LiteralString = f"""
UPDATE access.users SET disabled_at = NULL, revision = revision + 1
 WHERE id = %(id)s AND disabled_at IS NOT NULL
RETURNING {_USER}
"""
SET_PASSWORD: LiteralString = f"""
UPDATE access.users SET password_hash = %(hash)s, revision = revision + 1
 WHERE id = %(id)s
RETURNING {_USER}
"""

# --- API tokens

ADD_TOKEN: LiteralString = f"""
INSERT INTO access.api_tokens (tenant_id, id, user_id, name, secret_hash, scopes, created_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(name)s, %(hash)s, %(scopes)s, %(now)s, %(expires_at)s)
RETURNING {_TOKEN}
"""
FIND_TOKEN: LiteralString = "SELECT * FROM access.find_api_token(%(hash)s)"
TOKEN: LiteralString = f"SELECT {_TOKEN} FROM access.api_tokens WHERE id = %(id)s"
TOKENS: LiteralString = f"""
SELECT {_TOKEN} FROM access.api_tokens
 WHERE id > %(after)s AND (%(user_id)s::uuid IS NULL OR user_id = %(user_id)s)
 ORDER BY id LIMIT %(limit)s
"""
REVOKE_TOKEN: LiteralString = f"""
UPDATE access.api_tokens SET revoked_at = %(now)s, revision = revision + 1
 WHERE id = %(id)s AND revoked_at IS NULL
RETURNING {_TOKEN}
"""
# Many requests at once find the same old time: the guard lets one of them write.
RECORD_USE: LiteralString = """
UPDATE access.api_tokens SET last_used_at = %(now)s
 WHERE id = %(id)s AND last_used_at IS NOT DISTINCT FROM %(seen)s
"""


class AccessStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def add_tenant(self, tenant_id: TenantId, slug: str, name: str, now: datetime) -> Tenant | None:
        """None when the slug is taken."""
        return await fetch_one(self._connection, _tenant, ADD_TENANT, id=tenant_id, slug=slug, name=name, now=now)

    async def tenant(self, tenant_id: TenantId) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, TENANT, id=tenant_id)

    async def tenant_by_slug(self, slug: str) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, TENANT_BY_SLUG, slug=slug)

    async def tenants(self, after: UUID, limit: int) -> Sequence[Tenant]:
        return await fetch_all(self._connection, _tenant, TENANTS, after=after, limit=limit)

    async def first_tenant(self) -> Tenant | None:
        """The oldest: ids sort by time."""
        return await fetch_one(self._connection, _tenant, FIRST_TENANT)

    async def rename_tenant(self, tenant_id: TenantId, name: str) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, RENAME_TENANT, id=tenant_id, name=name)

    async def suspend_tenant(self, tenant_id: TenantId, now: datetime) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, SUSPEND_TENANT, id=tenant_id, now=now)

    async def resume_tenant(self, tenant_id: TenantId) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, RESUME_TENANT, id=tenant_id)

    async def set_embed_origins(self, tenant_id: TenantId, origins: Sequence[str]) -> Tenant | None:
        return await fetch_one(self._connection, _tenant, SET_EMBED_ORIGINS, id=tenant_id, origins=list(origins))

    async def suspended_tenants(self) -> Sequence[TenantId]:
        return await fetch_all(self._connection, _value, SUSPENDED)

    async def any_user(self) -> bool:
        return await fetch_one(self._connection, _value, ANY_USER) is not None

    async def first_user(self, tenant_id: TenantId) -> UserId | None:
        return await fetch_one(self._connection, _value, FIRST_USER, id=tenant_id)

    async def add_user(self, tenant_id: TenantId, user_id: UserId, new: NewUser, now: datetime) -> User | None:
        """None when the e-mail is known, in this tenant or another."""
        row = {"tenant_id": tenant_id, "id": user_id, "email": new.email, "name": new.name, "role": new.role}
        return await fetch_one(self._connection, _user, ADD_USER, now=now, **row)

    async def find_user(self, email: str) -> tuple[TenantId, UserId] | None:
        return await fetch_one(self._connection, _place, FIND_USER, email=email)

    async def user(self, user_id: UserId) -> User | None:
        return await fetch_one(self._connection, _user, USER, id=user_id)

    async def user_locked(self, user_id: UserId) -> User | None:
        """Until the transaction ends nobody changes it: what is decided about it stays true."""
        return await fetch_one(self._connection, _user, USER_LOCKED, id=user_id)

    async def users(self, after: UUID, limit: int) -> Sequence[User]:
        return await fetch_all(self._connection, _user, USERS, after=after, limit=limit)

    async def names(self, user_ids: Sequence[UUID]) -> dict[UUID, str]:
        rows = await (await self._connection.execute(NAMES, {"ids": list(user_ids)})).fetchall()
        return dict(rows)

    async def password_hash(self, user_id: UserId) -> str | None:
        return await fetch_one(self._connection, _value, PASSWORD_HASH, id=user_id)

    async def set_role(self, user_id: UserId, role: Role) -> User | None:
        return await fetch_one(self._connection, _user, SET_ROLE, id=user_id, role=role)

    async def disable_user(self, user_id: UserId, now: datetime) -> User | None:
        return await fetch_one(self._connection, _user, DISABLE_USER, id=user_id, now=now)

    async def enable_user(self, user_id: UserId) -> User | None:
        return await fetch_one(self._connection, _user, ENABLE_USER, id=user_id)

    async def set_password(self, user_id: UserId, password_hash: str) -> User | None:
        return await fetch_one(self._connection, _user, SET_PASSWORD, id=user_id, hash=password_hash)

    async def add_token(
        self, user: User, token_id: TokenId, new: NewToken, secret_hash: bytes, now: datetime
    ) -> ApiToken:
        row = {"tenant_id": user.tenant_id, "id": token_id, "user_id": user.id, "name": new.name, "hash": secret_hash}
        row |= {"scopes": sorted(new.scopes), "expires_at": new.expires_at, "now": now}
        [added] = await fetch_all(self._connection, _token, ADD_TOKEN, **row)
        return added

    async def find_token(self, secret_hash: bytes) -> FoundToken | None:
        return await fetch_one(self._connection, _found_token, FIND_TOKEN, hash=secret_hash)

    async def token(self, token_id: TokenId) -> ApiToken | None:
        return await fetch_one(self._connection, _token, TOKEN, id=token_id)

    async def tokens(self, user_id: UserId | None, after: UUID, limit: int) -> Sequence[ApiToken]:
        return await fetch_all(self._connection, _token, TOKENS, user_id=user_id, after=after, limit=limit)

    async def revoke_token(self, token_id: TokenId, now: datetime) -> ApiToken | None:
        return await fetch_one(self._connection, _token, REVOKE_TOKEN, id=token_id, now=now)

    async def record_use(self, token_id: TokenId, seen: datetime | None, now: datetime) -> None:
        await self._connection.execute(RECORD_USE, {"id": token_id, "seen": seen, "now": now})


def _tenant(*, embed_origins: Sequence[str], **columns: Any) -> Tenant:
    return Tenant(embed_origins=tuple(embed_origins), **columns)


def _user(*, role: str, **columns: Any) -> User:
    return User(role=Role(role), **columns)


def _token(*, scopes: Sequence[str], **columns: Any) -> ApiToken:
    return ApiToken(scopes=frozenset(map(Scope, scopes)), **columns)


def _found_token(*, role: str, scopes: Sequence[str], **columns: Any) -> FoundToken:
    return FoundToken(role=Role(role), scopes=frozenset(map(Scope, scopes)), **columns)


def _place(*, tenant_id: TenantId, id: UserId) -> tuple[TenantId, UserId]:  # noqa: A002  the column's name
    return tenant_id, id


def _value(*, value: Any) -> Any:
    return value


# ruff: noqa: S105, S608  statements, not secrets; what is put into them is a constant list of columns


_SESSION: LiteralString = "tenant_id, id, user_id, method, opened_at, expires_at, ended_at, revision, ended_because"

# --- links

ADD_LINK: LiteralString = """
INSERT INTO access.sign_in_links (tenant_id, id, user_id, secret_hash, created_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(hash)s, %(now)s, %(expires_at)s)
"""
FIND_LINK: LiteralString = "SELECT tenant_id, id FROM access.find_sign_in_link(%(hash)s)"
USE_LINK: LiteralString = """
UPDATE access.sign_in_links SET used_at = %(now)s
 WHERE id = %(id)s AND used_at IS NULL AND expires_at > %(now)s
RETURNING user_id AS value
"""

# --- sessions

ADD_SESSION: LiteralString = """
INSERT INTO access.sessions (tenant_id, id, user_id, method, opened_at, expires_at)
VALUES (%(tenant_id)s, %(id)s, %(user_id)s, %(method)s, %(opened_at)s, %(expires_at)s)
"""
ADD_SECRET: LiteralString = """
INSERT INTO access.session_secrets (tenant_id, session_id, secret_hash) VALUES (%(tenant_id)s, %(id)s, %(hash)s)
"""
FIND_SESSION: LiteralString = "SELECT tenant_id, id FROM access.find_session(%(hash)s)"
SESSION_LOCKED: LiteralString = f"SELECT {_SESSION} FROM access.sessions WHERE id = %(id)s FOR UPDATE"
SECRET: LiteralString = """
SELECT superseded_at, rotated_at, seen_at FROM access.session_secrets
 WHERE session_id = %(id)s AND secret_hash = %(hash)s
"""
SECRET_SEEN: LiteralString = """
-- The first time: it has arrived, so nobody needs the others any more.
UPDATE access.session_secrets
   SET seen_at = CASE WHEN secret_hash = %(hash)s THEN %(now)s ELSE seen_at END,
       superseded_at = CASE WHEN secret_hash = %(hash)s THEN superseded_at ELSE %(now)s END
 WHERE session_id = %(id)s AND (secret_hash = %(hash)s OR superseded_at IS NULL)
"""
ROTATED: LiteralString = """
UPDATE access.session_secrets SET rotated_at = %(now)s WHERE session_id = %(id)s AND secret_hash = %(hash)s
"""
EXTEND_SESSION: LiteralString = "UPDATE access.sessions SET expires_at = %(expires_at)s WHERE id = %(id)s"
END_SESSION: LiteralString = f"""
UPDATE access.sessions SET ended_at = %(now)s, ended_because = %(because)s, revision = revision + 1
 WHERE id = %(id)s AND ended_at IS NULL
RETURNING {_SESSION}
"""
END_SESSIONS_OF: LiteralString = f"""
UPDATE access.sessions SET ended_at = %(now)s, ended_because = %(because)s, revision = revision + 1
 WHERE user_id = %(user_id)s AND ended_at IS NULL AND expires_at > %(now)s
RETURNING {_SESSION}
"""

# --- keys

KEYS: LiteralString = """
SELECT number, kid, public_key, sealed_key, created_at, signs_until
  FROM access.signing_keys ORDER BY number DESC LIMIT 100
"""
ADD_KEY: LiteralString = """
-- Of two processes that saw the same last number, one is refused, and finds the other's key when it looks again.
INSERT INTO access.signing_keys (number, kid, public_key, sealed_key, created_at, signs_until)
VALUES (%(number)s, %(kid)s, %(public_key)s, %(sealed_key)s, %(created_at)s, %(signs_until)s)
ON CONFLICT (number) DO NOTHING
"""

# --- attempts

ATTEMPTS: LiteralString = """
-- Locked: of two that come at once, the second one sees the first.
INSERT INTO access.sign_in_attempts AS a (subject, attempts, window_ends_at) VALUES (%(subject)s, 0, %(now)s)
ON CONFLICT (subject) DO UPDATE SET attempts = a.attempts
RETURNING attempts AS count, window_ends_at, last_at
"""
COUNT_ATTEMPT: LiteralString = """
UPDATE access.sign_in_attempts
   SET attempts = %(count)s, window_ends_at = %(window_ends_at)s, last_at = %(last_at)s
 WHERE subject = %(subject)s
"""
FORGET_ATTEMPTS: LiteralString = "DELETE FROM access.sign_in_attempts WHERE subject = %(subject)s"

# --- what is over, oldest first

REMOVE_LINKS: LiteralString = """
DELETE FROM access.sign_in_links WHERE (tenant_id, id) IN (
  SELECT tenant_id, id FROM access.sign_in_links WHERE expires_at < %(before)s ORDER BY expires_at LIMIT %(limit)s)
"""
REMOVE_SESSIONS: LiteralString = """
DELETE FROM access.sessions WHERE (tenant_id, id) IN (
  SELECT tenant_id, id FROM access.sessions WHERE expires_at < %(before)s ORDER BY expires_at LIMIT %(limit)s)
"""
REMOVE_KEYS: LiteralString = "DELETE FROM access.signing_keys WHERE signs_until < %(before)s"
REMOVE_ATTEMPTS: LiteralString = """
DELETE FROM access.sign_in_attempts WHERE subject IN (
  SELECT subject FROM access.sign_in_attempts
   WHERE window_ends_at < %(before)s ORDER BY window_ends_at LIMIT %(limit)s)
"""


class SessionStore:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self._connection = connection

    async def add_link(self, link: IssuedLink, link_id: rules.LinkId, secret_hash: bytes, now: datetime) -> None:
        row = {"tenant_id": link.user.tenant_id, "id": link_id, "user_id": link.user.id, "hash": secret_hash}
        await self._connection.execute(ADD_LINK, row | {"now": now, "expires_at": link.expires_at})

    async def find_link(self, secret_hash: bytes) -> tuple[TenantId, rules.LinkId] | None:
        return await fetch_one(self._connection, _link_place, FIND_LINK, hash=secret_hash)

    async def use_link(self, link_id: rules.LinkId, now: datetime) -> UserId | None:
        """None when it was used before or is too old."""
        return await fetch_one(self._connection, _value, USE_LINK, id=link_id, now=now)

    async def add_session(self, session: rules.UserSession) -> None:
        await self._connection.execute(ADD_SESSION, asdict(session))

    async def add_secret(self, session: rules.UserSession, secret_hash: bytes) -> None:
        row = {"tenant_id": session.tenant_id, "id": session.id, "hash": secret_hash}
        await self._connection.execute(ADD_SECRET, row)

    async def find_session(self, secret_hash: bytes) -> tuple[TenantId, rules.SessionId] | None:
        return await fetch_one(self._connection, _session_place, FIND_SESSION, hash=secret_hash)

    async def session_locked(self, session_id: rules.SessionId) -> rules.UserSession | None:
        """Two that refresh at once take turns, and the second one sees what the first one did."""
        return await fetch_one(self._connection, _session, SESSION_LOCKED, id=session_id)

    async def secret(self, session_id: rules.SessionId, secret_hash: bytes) -> rules.SecretState:
        found = await fetch_one(self._connection, rules.SecretState, SECRET, id=session_id, hash=secret_hash)
        return found or rules.SecretState()

    async def secret_seen(self, session_id: rules.SessionId, secret_hash: bytes, now: datetime) -> None:
        await self._connection.execute(SECRET_SEEN, {"id": session_id, "hash": secret_hash, "now": now})

    async def rotate_secret(self, session: rules.UserSession, shown: bytes, fresh: bytes, now: datetime) -> None:
        """One more secret of a locked session, and its new end. The one that was shown stays good for now."""
        await self._connection.execute(ROTATED, {"id": session.id, "hash": shown, "now": now})
        await self.add_secret(session, fresh)
        await self._connection.execute(EXTEND_SESSION, {"id": session.id, "expires_at": session.expires_at})

    async def end_session(
        self, session_id: rules.SessionId, because: rules.SessionEnding, now: datetime
    ) -> rules.UserSession | None:
        return await fetch_one(self._connection, _session, END_SESSION, id=session_id, because=because, now=now)

    async def end_sessions_of(
        self, user_id: UserId, because: rules.SessionEnding, now: datetime
    ) -> Sequence[rules.UserSession]:
        values = {"user_id": user_id, "because": because, "now": now}
        return await fetch_all(self._connection, _session, END_SESSIONS_OF, **values)

    async def keys(self) -> Sequence[rules.StoredKey]:
        return await fetch_all(self._connection, rules.StoredKey, KEYS)

    async def add_key(self, key: rules.StoredKey) -> None:
        await self._connection.execute(ADD_KEY, asdict(key))

    async def attempts(self, subject: bytes, now: datetime) -> rules.Attempts:
        """Until the transaction ends nobody else counts. Subjects are taken in one order: e-mail, then address."""
        [found] = await fetch_all(self._connection, rules.Attempts, ATTEMPTS, subject=subject, now=now)
        return found

    async def count_attempt(self, subject: bytes, counted: rules.Attempts) -> None:
        await self._connection.execute(COUNT_ATTEMPT, {"subject": subject, **asdict(counted)})

    async def forget_attempts(self, subject: bytes) -> None:
        await self._connection.execute(FORGET_ATTEMPTS, {"subject": subject})

    async def remove(self, statement: LiteralString, before: datetime, limit: int) -> int:
        cursor = await self._connection.execute(statement, {"before": before, "limit": limit})
        return cursor.rowcount


def _session(*, method: str, ended_because: str | None, **columns: Any) -> rules.UserSession:
    return rules.UserSession(
        method=rules.SignInMethod(method),
        ended_because=rules.SessionEnding(ended_because) if ended_because else None,
        **columns,
    )


def _link_place(*, tenant_id: UUID, id: UUID) -> tuple[TenantId, rules.LinkId]:  # noqa: A002  the column's name
    return TenantId(tenant_id), rules.LinkId(id)


def _session_place(*, tenant_id: UUID, id: UUID) -> tuple[TenantId, rules.SessionId]:  # noqa: A002
    return TenantId(tenant_id), rules.SessionId(id)
