"""Who is here: sessions, what is handed out for them, and the keys that sign it.

Invariant: secrets never show in a repr.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from touchline.gateway.auth.model import Tenant, User
from touchline.kernel import Role, TenantId, UserId

SessionId = NewType("SessionId", UUID)
LinkId = NewType("LinkId", UUID)


class Method(StrEnum):
    LINK = "link"
    PASSWORD = "password"  # noqa: S105  a word, not a secret


class Ending(StrEnum):
    """Why a session ended before its time."""

    SIGNED_OUT = "signed_out"
    SECRET_REUSED = "secret_reused"  # noqa: S105
    USER_DISABLED = "user_disabled"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105


@dataclass(frozen=True, slots=True)
class Session:
    tenant_id: TenantId
    id: SessionId
    user_id: UserId
    method: Method
    opened_at: datetime
    expires_at: datetime
    ended_at: datetime | None
    revision: int
    ended_because: Ending | None = None


@dataclass(frozen=True, slots=True)
class SecretState:
    """What is known of one of a session's secrets."""

    superseded_at: datetime | None = None  # a newer one was shown
    rotated_at: datetime | None = None  # it was answered with a newer one
    seen_at: datetime | None = None  # it was shown for the first time


@dataclass(frozen=True, slots=True)
class AccessClaims:
    """What an access token says."""

    tenant_id: TenantId
    user_id: UserId
    role: Role
    session_id: SessionId
    issued_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Handed to the person who signed in. Without a session secret: the one they have was just replaced."""

    user: User
    tenant: Tenant
    session: Session
    issued_at: datetime
    access_expires_at: datetime
    access_token: str = field(repr=False)
    session_secret: str | None = field(repr=False)
    device: str | None = field(default=None, repr=False)  # by which this browser is known the next time


@dataclass(frozen=True, slots=True)
class StoredKey:
    number: int
    kid: str
    public_key: bytes
    created_at: datetime
    signs_until: datetime
    sealed_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class SigningKey:
    kid: str
    private_key: Ed25519PrivateKey = field(repr=False)
