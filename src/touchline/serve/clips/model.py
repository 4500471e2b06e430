"""The business record of a clip, and what one is asked for with.

Invariant: times are whole milliseconds of the source's media time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from touchline.kernel import UserId
from touchline.kernel.ids import ArtifactHash, InternalName, PlaybackId
from touchline.serve.artifacts.model import Status


@dataclass(frozen=True, slots=True)
class NewClip:
    """A request, as it was sent or as it was checked."""

    source_hash: ArtifactHash
    start_ms: int
    end_ms: int
    padding_ms: int | None = None  # None: the usual one
    title: str = ""
    description: str = ""
    requested_params: Mapping[str, Any] = field(default_factory=dict[str, Any])  # word by word, for the audit


@dataclass(frozen=True, slots=True)
class Span:
    """From the first millisecond to before the last."""

    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What the registry adds to a request that it takes in."""

    id: UUID
    shown: Span
    now: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Clip:
    id: UUID
    artifact_hash: ArtifactHash
    playback_id: PlaybackId
    internal_name: InternalName
    user_id: UserId
    source_hash: ArtifactHash
    stream_id: UUID | None
    title: str
    description: str
    start_ms: int
    end_ms: int
    padding_ms: int
    shown: Span  # with its padding, as far as the source goes; exact once it was cut
    created_at: datetime
    expires_at: datetime
    revision: int


@dataclass(frozen=True, slots=True)
class CreatedClip:
    """With how its artifact is right now: the same request again finds it further on."""

    clip: Clip
    status: Status
    revision: int


@dataclass(frozen=True, slots=True)
class ClipFilter:
    source_hash: ArtifactHash | None = None
    stream_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClipPage:
    clips: Sequence[Clip]
    has_next: bool
    has_previous: bool
    total_count: int


@dataclass(frozen=True, slots=True)
class MadeClip:
    """What lies in the object store now."""

    size_bytes: int
    shown: Span
