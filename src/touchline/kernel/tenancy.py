"""Who makes a request: tenants, users, programs, and what each may do.

The trace id of a request is here too: its events and everything that they cause carry it.
Invariant: a principal belongs to exactly one tenant; only an operator may act across tenants, with a stated reason.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType
from uuid import UUID

from .errors import Forbidden

TenantId = NewType("TenantId", UUID)
UserId = NewType("UserId", UUID)


class Role(StrEnum):
    """Each role may do all that the ones before it may."""

    VIEWER = "viewer"
    EDITOR = "editor"
    ADMIN = "admin"
    OPERATOR = "operator"

    @property
    def rank(self) -> int:
        return tuple(Role).index(self)

    def includes(self, other: Role) -> bool:
        return self.rank >= other.rank


class Scope(StrEnum):
    """What an API token may be used for, at most."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ROLE_FOR_SCOPE = {Scope.READ: Role.VIEWER, Scope.WRITE: Role.EDITOR, Scope.ADMIN: Role.ADMIN}


@dataclass(frozen=True, slots=True)
class Principal:
    tenant_id: TenantId
    user_id: UserId
    role: Role
    scopes: frozenset[Scope] | None = None  # None: a person's session, limited by the role alone

    @property
    def actor(self) -> str:
        """How records and events name whoever acts: the person, or a token of that person."""
        return f"{'user' if self.scopes is None else 'token'}:{self.user_id}"

    def may(self, scope: Scope) -> bool:
        return self.role.includes(ROLE_FOR_SCOPE[scope]) and (self.scopes is None or scope in self.scopes)

    def require(self, scope: Scope) -> None:
        if not self.may(scope):
            raise Forbidden(f"you do not have the permission to {scope}", why=f"your role is {self.role}")


_trace: ContextVar[str | None] = ContextVar("trace", default=None)


def current_trace() -> str | None:
    return _trace.get()


@contextmanager
def tracing(trace: str | None) -> Generator[None]:
    """Every event announced and every line logged inside carries this trace id."""
    token = _trace.set(trace)
    try:
        yield
    finally:
        _trace.reset(token)
