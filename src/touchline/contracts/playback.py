"""Share links, as the other roles ask for them: playing one artifact without signing in.

Invariants: the service object and the gRPC client both implement `PlaybackClient`, and the same call has the same
result, the same error and a deadline with either. The token of a link is in the answer to its creation and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from touchline.kernel import ArtifactHash, PlaybackId, Principal, TenantId, UserId


@dataclass(frozen=True, slots=True)
class ShareLink:
    id: UUID
    artifact_hash: ArtifactHash
    created_by: UserId
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revision: int


@dataclass(frozen=True, slots=True)
class CreatedShareLink:
    link: ShareLink
    token: str = field(repr=False)  # shown once: only its hash is kept


@dataclass(frozen=True, slots=True)
class SharedArtifact:
    """What a valid token stands for."""

    link_id: UUID
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    expires_at: datetime


class PlaybackClient(Protocol):
    """Links are made, listed and revoked for a caller, whose tenant and scopes are checked; tokens are for anybody."""

    async def create_share_link(
        self, caller: Principal, artifact_hash: str, expires_at: datetime | None = None
    ) -> CreatedShareLink:
        """Without an end it gets the usual one."""
        ...

    async def share_links(self, caller: Principal, artifact_hash: str) -> Sequence[ShareLink]:
        """Newest first, the ended ones too."""
        ...

    async def revoke_share_link(self, caller: Principal, link_id: str) -> ShareLink:
        """For good. Again is the same as once."""
        ...

    async def open_share_link(self, token: str) -> SharedArtifact:
        """NotFound, in the same words, whether it never was, has expired, or was revoked."""
        ...

    async def share_link_is_valid(self, tenant_id: TenantId, link_id: UUID) -> bool:
        """For what is being played by a link."""
        ...
