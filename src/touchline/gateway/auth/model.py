"""Who exists: tenants, their users, the tokens of their programs, and who changes them.

Invariant: a user belongs to exactly one tenant. No secret and no hash is part of these, except where it is shown once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, NewType, TypeVar
from uuid import UUID

from touchline.kernel import Principal, Role, Scope, TenantId, UserId

TokenId = NewType("TokenId", UUID)
Item = TypeVar("Item")

BEGINNING = UUID(int=0)  # comes before every id

# A wall with nothing behind it: the application looks up secrets and e-mails from here, before it knows the tenant.
NOBODY = TenantId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class Tenant:
    id: TenantId
    slug: str
    name: str
    created_at: datetime
    suspended_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class User:
    tenant_id: TenantId
    id: UserId
    email: str
    name: str
    role: Role
    has_password: bool
    created_at: datetime
    disabled_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class ApiToken:
    tenant_id: TenantId
    id: TokenId
    user_id: UserId
    name: str
    scopes: frozenset[Scope]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class NewUser:
    email: str
    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class NewToken:
    name: str
    scopes: frozenset[Scope]
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """The only time the token itself is known."""

    token: ApiToken
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class IssuedLink:
    user: User
    expires_at: datetime
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FoundToken:
    """What a presented API token stands for, whether or not it may still be used."""

    tenant_id: TenantId
    id: TokenId
    user_id: UserId
    role: Role
    scopes: frozenset[Scope]
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    disabled_at: datetime | None
    suspended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does an administrative act. Without a principal: somebody who holds the data folder, hence an operator."""

    name: str
    principal: Principal | None = None

    @classmethod
    def of(cls, principal: Principal) -> Actor:
        return cls(str(principal.user_id), principal)


COMMAND_LINE = Actor("cli")
INSTALLATION = Actor("touchline")


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a list: at most `limit` items that come after one."""

    limit: int = 100
    after: UUID = BEGINNING


@dataclass(frozen=True, slots=True)
class Listing(Generic[Item]):
    items: Sequence[Item]
    more: bool
