"""What happens to share links. Invariant: no payload carries a token or its hash."""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from .envelope import Payload


class ShareLinkPayload(Payload):
    share_link_id: UUID
    artifact_hash: str
    by: str  # the id of the user

    @property
    def key(self) -> str:
        return f"share_link:{self.share_link_id}"


class ShareLinkCreated(ShareLinkPayload):
    event_type: ClassVar[str] = "share_link.created"
    expires_at: datetime


class ShareLinkRevoked(ShareLinkPayload):
    event_type: ClassVar[str] = "share_link.revoked"


PAYLOADS: tuple[type[Payload], ...] = (ShareLinkCreated, ShareLinkRevoked)
