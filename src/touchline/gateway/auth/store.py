"""All SQL of tenants, users and API tokens. Changes of tenants run on a system transaction, the rest inside one tenant.

Invariant: every change raises `revision` and is guarded by the state it leaves; what did not apply comes back as None.
"""

# ruff: noqa: S105, S608  statements, not secrets; what is put into them is a constant list of columns

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import AsyncConnection

from touchline.kernel import Role, Scope, TenantId, UserId
from touchline.platform.postgres.database import fetch_all, fetch_one

from .rules import ApiToken, FoundToken, NewToken, NewUser, Tenant, TokenId, User

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
