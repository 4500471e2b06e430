"""What happens to streams, as their owners change them. Written by serve.

Invariant: no payload carries a key or its hash.
"""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from .envelope import Payload


class StreamPayload(Payload):
    stream_id: UUID
    actor: str | None = None  # who caused it: the transaction that announces the event knows

    @property
    def key(self) -> str:
        return f"stream:{self.stream_id}"


class StreamCreated(StreamPayload):
    event_type: ClassVar[str] = "stream.created"
    playback_id: str
    internal_name: str
    title: str
    description: str
    record: bool


class StreamUpdated(StreamPayload):
    """All that people may change, as it is from now on."""

    event_type: ClassVar[str] = "stream.updated"
    title: str
    description: str
    record: bool
    suspended: bool


class StreamKeyRotated(StreamPayload):
    """The old key is refused from now on."""

    event_type: ClassVar[str] = "stream.key_rotated"


class StreamDeleted(StreamPayload):
    event_type: ClassVar[str] = "stream.deleted"


PAYLOADS: tuple[type[Payload], ...] = (StreamCreated, StreamUpdated, StreamKeyRotated, StreamDeleted)
