"""The lifecycle of artifacts, as the other roles ask for it: current states, events, and where bytes were.

Invariants: the service object and the gRPC client both implement `LifecycleClient`, and the same call has the same
result, the same error and a deadline with either. None is unknown, which is not no, zero or gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from touchline.kernel import ArtifactHash, Principal


@dataclass(frozen=True, slots=True)
class LifecycleState:
    """All that the events of one artifact say."""

    artifact_hash: ArtifactHash
    artifact_type: str | None
    stage: str | None
    progress_percent: int | None
    size_bytes: int | None
    duration_ms: int | None
    width: int | None
    height: int | None
    manifest_key: str | None
    poster_key: str | None
    error_code: str | None
    error_message: str | None
    synced: bool | None
    local_copies: int | None
    storage_location: str | None
    revision: int
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class LifecycleEvent:
    """One event of one artifact; None is what it does not say."""

    event_id: UUID
    position: int
    artifact_hash: ArtifactHash
    type: str
    revision: int
    occurred_at: datetime
    stage: str | None
    progress_percent: int | None
    size_bytes: int | None
    duration_ms: int | None
    synced: bool | None
    local_copies: int | None
    error_code: str | None
    error_message: str | None
    job_id: UUID | None
    job_type: str | None
    attempt: int | None
    user_id: UUID | None


@dataclass(frozen=True, slots=True)
class StorageEvent:
    """Where an artifact's bytes were, as one event says it."""

    event_id: UUID
    position: int
    artifact_hash: ArtifactHash
    type: str
    revision: int
    occurred_at: datetime
    synced: bool | None
    local_copies: int | None
    storage_location: str | None
    size_bytes: int | None


class LifecycleClient(Protocol):
    """Every call is made for a caller, whose tenant and scopes are checked."""

    async def states(self, caller: Principal, hashes: Sequence[str]) -> Sequence[LifecycleState]:
        """Of the known ones."""
        ...

    async def events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[LifecycleEvent]:
        """After a position of the log, by artifact, of each so many, oldest first."""
        ...

    async def storage_events(
        self, caller: Principal, hashes: Sequence[str], after: int, limit: int
    ) -> Sequence[StorageEvent]:
        """Of all of them together, oldest first; without hashes of all artifacts."""
        ...
