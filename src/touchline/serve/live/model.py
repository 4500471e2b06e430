"""What crosses between the readers of RTMP and SRT, the streams of a node, and what records, cuts and reports them.

Invariant: a reader knows keys and bytes and nothing else. Whether a key may publish, and for how long, is said by
`Admission`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol, TypeAlias
from uuid import UUID

from touchline.kernel import TenantId


class Container(StrEnum):
    """The form in which a reader passes on what a publisher sends."""

    FLV = "flv"
    MPEG_TS = "mpegts"


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """A publisher that wants to begin."""

    key: str = field(repr=False)  # a secret: never in logs, errors or addresses
    container: Container
    peer: str  # the publisher's address, for logs


class Sink(Protocol):
    """Takes the bytes of one admitted publisher. Whoever writes waits as long as the bytes cannot be taken."""

    async def write(self, data: bytes) -> None:
        """TouchlineError: this publisher is to be hung up on, and why."""
        ...

    async def end(self) -> None:
        """The publisher is gone, by intention or not. Called once, whatever happened before."""
        ...


# Raises a TouchlineError where the key is refused: `Forbidden` for a wrong one, `Conflict` where the stream is live
# already.
Admission: TypeAlias = Callable[[PublishRequest], Awaitable[Sink]]


# --- Between the service of a node's streams and what records, cuts and reports them.


@dataclass(frozen=True, slots=True)
class AuthorizedStream:
    """Whose stream a key is. A publisher that comes back within the grace period goes on in the same session."""

    tenant_id: TenantId
    stream_id: UUID
    internal_name: str
    session_id: UUID


class StreamAuthority(Protocol):
    """The artifacts role, as a node sees it."""

    async def authorize(self, request: PublishRequest, session_id: UUID) -> AuthorizedStream:
        """Forbidden: a wrong, old or suspended key. Conflict: live on another node. Unavailable: nobody could be
        asked."""
        ...


@dataclass(frozen=True, slots=True)
class LiveSegment:
    """A closed segment of a stream's window: `moof` and `mdat` boxes that need the init file of its number."""

    sequence: int  # goes on over breaks
    init: int  # which init file it needs
    starts_at: datetime  # by the node's clock, when its first picture arrived
    duration: timedelta
    size_bytes: int
    follows_break: bool  # what came before it is not continuous with it


@dataclass(frozen=True, slots=True)
class StreamHealth:
    """What the node measures of a publisher, over the last seconds."""

    bits_per_second: int
    frames_per_second: float
    dropped_frames: int  # in all
    keyframe_gap: timedelta
    behind: timedelta  # the newest picture's arrival after it was due
    width: int
    height: int


class LiveWindow(Protocol):
    """What a node has of one stream."""

    def segments(self, start: datetime, end: datetime) -> Sequence[LiveSegment]:
        """Those that overlap the range, oldest first; closed ones only."""
        ...

    async def init_bytes(self, init: int) -> bytes: ...

    async def segment_bytes(self, segment: LiveSegment) -> bytes:
        """NotFound: it has left the window."""
        ...


class LiveListener(Protocol):
    """Is told, in order, what happens to the streams of a node. Called in the loop, and returns at once."""

    def publishing(self, stream: AuthorizedStream, window: LiveWindow) -> None: ...

    def segment_closed(self, stream: AuthorizedStream, segment: LiveSegment) -> None:
        """The first one of a session makes the stream playable."""
        ...

    def broken(self, stream: AuthorizedStream, reason: str) -> None:
        """The publisher is gone, and may come back."""
        ...

    def measured(self, stream: AuthorizedStream, health: StreamHealth) -> None: ...

    def ended(self, stream: AuthorizedStream, reason: str) -> None:
        """It did not come back in time, was refused for what it sent, or was told to stop."""
        ...
