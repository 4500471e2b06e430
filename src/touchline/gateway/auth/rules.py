"""Tenants, users and API tokens, and who may change them. Pure: answers, or raises the error that the caller gets.

Invariant: a user belongs to exactly one tenant. No type here holds a secret or a hash, except where it is shown once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, NewType, TypeVar
from uuid import UUID

from touchline.kernel import ROLE_FOR_SCOPE, Principal, Role, Scope, TenantId, UserId, errors

# --- Types.

TokenId = NewType("TokenId", UUID)
Item = TypeVar("Item")
BEGINNING = UUID(int=0)  # comes before every id
# A tenant without rows: the application looks up secrets and e-mails from here, before it knows the tenant.
WITHOUT_TENANT = TenantId(UUID(int=0))


@dataclass(frozen=True, slots=True)
class Tenant:
    id: TenantId
    slug: str
    name: str
    created_at: datetime
    suspended_at: datetime | None
    embed_origins: tuple[str, ...]  # sites that may show its videos in frames of theirs
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


def user_of(actor: str) -> UUID | None:
    """Whose act it was, also by a token; None when it was no user's."""
    try:
        return UUID(actor.removeprefix("user:").removeprefix("token:"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class ListWindow:
    """Which part of a list: at most `limit` items that come after one."""

    limit: int = 100
    after: UUID = BEGINNING


@dataclass(frozen=True, slots=True)
class ListPage(Generic[Item]):
    items: Sequence[Item]
    more: bool


# --- Rules.

LONGEST_NAME = 200
LONGEST_EMAIL = 254
LARGEST_PAGE = 500
_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
MOST_ORIGINS = 50
LONGEST_ORIGIN = 300
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_ORIGIN = re.compile(rf"https?://{_LABEL}(\.{_LABEL})*(:[1-9][0-9]{{0,4}})?", re.ASCII)
_EMAIL = re.compile(r"[^\s@<>\"(),:;\\]+@[^\s@<>\"(),:;\\]+")


def valid_slug(text: str) -> str:
    if not _SLUG.fullmatch(text):
        raise errors.InvalidInput(
            "not a valid slug",
            field="slug",
            why="use 1 to 63 characters of a-z, 0-9 and hyphens, without a hyphen at the start or end",
        )
    return text


def valid_name(text: str) -> str:
    text = text.strip()
    if not 0 < len(text) <= LONGEST_NAME or not text.isprintable():
        raise errors.InvalidInput("not a valid name", field="name", why=f"use 1 to {LONGEST_NAME} printable characters")
    return text


def valid_origins(texts: Sequence[str]) -> tuple[str, ...]:
    """As browsers spell them, each once, sorted."""
    if len(texts) > MOST_ORIGINS:
        raise errors.InvalidInput("too many sites", field="origins", why=f"the limit is {MOST_ORIGINS}")
    return tuple(sorted({valid_origin(text) for text in texts}))


def valid_origin(text: str) -> str:
    """A scheme, a host and perhaps a port: nothing that could mean more in a header."""
    plain = text.strip().rstrip("/").lower()
    if not _ORIGIN.fullmatch(plain) or len(plain) > LONGEST_ORIGIN:
        why = "write the scheme and the host, like https://www.example.org, and no path"
        raise errors.InvalidInput(f"{text[:LONGEST_ORIGIN]!r} is not a site", field="origins", why=why)
    scheme, _, host = plain.partition("://")
    return f"{scheme}://{host.removesuffix(DEFAULT_PORTS[scheme])}"


def is_email(text: str) -> bool:
    return len(text) <= LONGEST_EMAIL and text.isprintable() and _EMAIL.fullmatch(text) is not None


def valid_email(text: str) -> str:
    text = text.strip()
    if not is_email(text):
        raise errors.InvalidInput(
            "this is not an e-mail address", field="email", why="write it like somebody@example.org"
        )
    return text


def valid_limit(limit: int) -> int:
    if not 0 < limit <= LARGEST_PAGE:
        raise errors.InvalidInput("not a valid limit", field="limit", why=f"it must be between 1 and {LARGEST_PAGE}")
    return limit


def existing_tenant(tenant: Tenant | None) -> Tenant:
    if tenant is None:
        raise errors.NotFound("no such tenant")
    return tenant


def existing_user(user: User | None) -> User:
    if user is None:
        raise errors.NotFound("no such user")
    return user


def existing_token(token: ApiToken | None) -> ApiToken:
    if token is None:
        raise errors.NotFound("no such token")
    return token


def is_operator(actor: Actor) -> bool:
    principal = actor.principal
    return principal is None or (principal.role is Role.OPERATOR and principal.may(Scope.ADMIN))


def require_operator(actor: Actor) -> None:
    if not is_operator(actor):
        raise errors.Forbidden("only an operator may do this", why="it affects the whole installation")


def is_inside(actor: Actor, tenant_id: TenantId) -> bool:
    """Operators are inside of every tenant that they name."""
    return is_operator(actor) or (actor.principal is not None and actor.principal.tenant_id == tenant_id)


def require_inside(actor: Actor, tenant_id: TenantId) -> None:
    """Another tenant's id answers exactly like one that does not exist."""
    if not is_inside(actor, tenant_id):
        raise errors.NotFound("no such tenant")


def require_admin(actor: Actor, tenant_id: TenantId) -> None:
    require_inside(actor, tenant_id)
    if actor.principal is not None:
        actor.principal.require(Scope.ADMIN)


def require_role_within_reach(actor: Actor, role: Role) -> None:
    """Nobody gives, takes or touches a role above the own one."""
    if actor.principal is not None and not actor.principal.role.includes(role):
        raise errors.Forbidden(f"this needs the role {role}", why=f"your role is {actor.principal.role}")


def checked_user(actor: Actor, new: NewUser) -> NewUser:
    require_role_within_reach(actor, new.role)
    return NewUser(valid_email(new.email), valid_name(new.name), new.role)


def is_own(actor: Actor, user_id: UserId | None) -> bool:
    """Of one's own things only a session in person disposes: a token that could make tokens would survive its own
    revocation."""
    principal = actor.principal
    return principal is not None and principal.user_id == user_id and principal.scopes is None


def require_hold(actor: Actor, tenant_id: TenantId, user_id: UserId | None) -> None:
    """What lets somebody act as a user is for that user and for administrators. None: as every user."""
    if is_own(actor, user_id):
        require_inside(actor, tenant_id)
    else:
        require_admin(actor, tenant_id)


def require_enabled(user: User) -> None:
    if user.disabled_at is not None:
        raise errors.Conflict(
            f"{user.email} is disabled", hint=f"Enable it first: `touchline users enable {user.email}`."
        )


def checked_token(actor: Actor, user: User, new: NewToken, now: datetime) -> NewToken:
    require_role_within_reach(actor, user.role)
    if not new.scopes:
        raise errors.InvalidInput(
            "a token needs at least one scope", field="scopes", why=f"choose one or more of {_listed(Scope)}"
        )
    for scope in sorted(new.scopes):
        if not user.role.includes(ROLE_FOR_SCOPE[scope]):
            raise errors.Forbidden(
                f"the user may not have the scope {scope}", why=f"the role of {user.email} is {user.role}"
            )
        if actor.principal is not None:
            actor.principal.require(scope)
    if new.expires_at is not None and new.expires_at <= now:
        raise errors.InvalidInput(
            "the token would be expired", field="expires_at", why="the expiry must be in the future"
        )
    return NewToken(valid_name(new.name), new.scopes, new.expires_at)


def refusal(found: FoundToken, now: datetime) -> str:
    """Why an API token may not be used, or nothing."""
    if found.revoked_at is not None:
        return "the token was revoked"
    if found.expires_at is not None and found.expires_at <= now:
        return "the token has expired"
    if found.disabled_at is not None:
        return "the user is disabled"
    if found.suspended_at is not None:
        return "the tenant is suspended"
    return ""


def is_use_worth_recording(found: FoundToken, every: timedelta, now: datetime) -> bool:
    return found.last_used_at is None or now - found.last_used_at >= every


def _listed(values: Iterable[str]) -> str:
    return ", ".join(values)
