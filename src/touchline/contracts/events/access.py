"""What happens to tenants, users, tokens and sessions: the audit of every administrative act.

Invariant: `by` says who did it (a user's id, `cli` or `touchline`); no payload carries a secret or its hash.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from touchline.kernel import Role, Scope

from .envelope import Payload


class TenantPayload(Payload):
    tenant_id: UUID
    by: str

    @property
    def key(self) -> str:
        return f"tenant:{self.tenant_id}"


class TenantCreated(TenantPayload):
    event_type: ClassVar[str] = "tenant.created"
    slug: str
    name: str


class TenantRenamed(TenantPayload):
    event_type: ClassVar[str] = "tenant.renamed"
    name: str


class TenantSuspended(TenantPayload):
    event_type: ClassVar[str] = "tenant.suspended"


class TenantResumed(TenantPayload):
    event_type: ClassVar[str] = "tenant.resumed"


class TenantEmbedOriginsChanged(TenantPayload):
    event_type: ClassVar[str] = "tenant.embed_origins_changed"
    origins: tuple[str, ...]


class TenantSettingsChanged(TenantPayload):
    """All that its administrators may set, as it is from now on; null is as the installation says."""

    event_type: ClassVar[str] = "tenant.settings_changed"
    retention_ms: int | None


class UserPayload(Payload):
    user_id: UUID
    by: str

    @property
    def key(self) -> str:
        return f"user:{self.user_id}"


class UserCreated(UserPayload):
    event_type: ClassVar[str] = "user.created"
    email: str
    name: str
    role: Role


class UserRoleChanged(UserPayload):
    event_type: ClassVar[str] = "user.role_changed"
    old_role: Role
    new_role: Role


class UserDisabled(UserPayload):
    event_type: ClassVar[str] = "user.disabled"


class UserEnabled(UserPayload):
    event_type: ClassVar[str] = "user.enabled"


class UserPasswordChanged(UserPayload):
    event_type: ClassVar[str] = "user.password_changed"


class UserLinkIssued(UserPayload):
    """Somebody who holds the link can sign in as the user, once, until it expires."""

    event_type: ClassVar[str] = "user.link_issued"
    expires_at: datetime


class TokenPayload(Payload):
    token_id: UUID
    user_id: UUID
    by: str

    @property
    def key(self) -> str:
        return f"token:{self.token_id}"


class TokenIssued(TokenPayload):
    event_type: ClassVar[str] = "token.issued"
    name: str
    scopes: tuple[Scope, ...]
    expires_at: datetime | None


class TokenRevoked(TokenPayload):
    event_type: ClassVar[str] = "token.revoked"


class SessionPayload(Payload):
    session_id: UUID
    user_id: UUID
    by: str

    @property
    def key(self) -> str:
        return f"session:{self.session_id}"


class SessionOpened(SessionPayload):
    event_type: ClassVar[str] = "session.opened"
    method: str


class SessionEnded(SessionPayload):
    event_type: ClassVar[str] = "session.ended"
    because: str


PAYLOADS: tuple[type[Payload], ...] = (
    TenantCreated,
    TenantRenamed,
    TenantSuspended,
    TenantResumed,
    TenantEmbedOriginsChanged,
    TenantSettingsChanged,
    UserCreated,
    UserRoleChanged,
    UserDisabled,
    UserEnabled,
    UserPasswordChanged,
    UserLinkIssued,
    TokenIssued,
    TokenRevoked,
    SessionOpened,
    SessionEnded,
)
