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


# The life of a stream. One session is one publisher's stay, over breaks that are short enough.


class StreamSessionPayload(StreamPayload):
    session_id: UUID
    node_id: str


class StreamLive(StreamSessionPayload):
    """A publisher has begun."""

    event_type: ClassVar[str] = "stream.live"


class StreamPlayable(StreamSessionPayload):
    """The first segment is there."""

    event_type: ClassVar[str] = "stream.playable"


class StreamInterrupted(StreamSessionPayload):
    """The publisher is gone, and may come back."""

    event_type: ClassVar[str] = "stream.interrupted"


class StreamResumed(StreamSessionPayload):
    """The publisher is back, or its node is."""

    event_type: ClassVar[str] = "stream.resumed"


class StreamEnded(StreamSessionPayload):
    event_type: ClassVar[str] = "stream.ended"
    reason: str  # publisher_left, refused, stopped, replaced or node_lost
    problem: str = ""  # what was wrong with what the publisher sent, for people


PAYLOADS: tuple[type[Payload], ...] = (
    StreamCreated,
    StreamUpdated,
    StreamKeyRotated,
    StreamDeleted,
    StreamLive,
    StreamPlayable,
    StreamInterrupted,
    StreamResumed,
    StreamEnded,
)
