"""What events say about an artifact, and the state that follows from all of them. Pure.

Invariants: the same set of events gives the same state, in any order and however often they come. None means that no
event has said it; it never means no, zero or gone. The view `artifact_state_current` is `fold` in SQL; a property test
keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from touchline.contracts.events import PAYLOADS, Event, Payload
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactRegistered,
    OriginalStored,
    is_frozen,
    storage_location,
)
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoRetried, VideoTranscoded
from touchline.kernel import ArtifactHash, InvalidInput, parse_artifact_hash


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    """What one event may say of the artifact. Each is kept until an event of a higher standing says another."""

    artifact_type: str | None = None
    stage: str | None = None
    progress_percent: int | None = None
    size_bytes: int | None = None
    duration_ms: int | None = None
    width: int | None = None
    height: int | None = None
    original_key: str | None = None
    manifest_key: str | None = None
    poster_key: str | None = None
    synced: bool | None = None
    local_copies: int | None = None
    storage_location: str | None = None


@dataclass(frozen=True, slots=True)
class ArtifactFailure:
    """Code and message belong together, and to the stage in which they were reported."""

    code: str | None
    message: str | None
    stage: str | None


@dataclass(frozen=True, slots=True)
class EventContext:
    """What else an event tells: for the history, not for the state."""

    internal_name: str | None = None
    playback_id: str | None = None
    user_id: UUID | None = None
    content_type: str | None = None
    job_id: UUID | None = None
    job_type: str | None = None
    attempt: int | None = None


FACT_NAMES = tuple(field.name for field in fields(ArtifactFacts))
CONTEXT_NAMES = tuple(field.name for field in fields(EventContext))


@dataclass(frozen=True, slots=True)
class ArtifactEvent:
    """One event of one artifact, as it is kept for good."""

    event_id: UUID
    position: int
    artifact_hash: ArtifactHash
    type: str
    revision: int
    occurred_at: datetime
    facts: ArtifactFacts
    error_code: str | None = None
    error_message: str | None = None
    context: EventContext = EventContext()


@dataclass(frozen=True, slots=True)
class FoldedArtifact:
    """All events of one artifact put together; nothing is concluded from it yet."""

    artifact_hash: ArtifactHash
    facts: ArtifactFacts
    failure: ArtifactFailure | None
    revision: int  # the artifact's own, zero before its first event
    position: int  # of the last event: a subscription goes on from here
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class ArtifactState:
    """The answer for one artifact."""

    artifact_hash: ArtifactHash
    artifact_type: str | None
    stage: str | None
    progress_percent: int | None
    size_bytes: int | None
    duration_ms: int | None
    width: int | None
    height: int | None
    original_key: str | None
    manifest_key: str | None
    poster_key: str | None
    synced: bool | None
    local_copies: int | None
    error_code: str | None
    error_message: str | None
    storage_location: str | None
    is_frozen: bool | None
    revision: int
    position: int
    updated_at: datetime


# Announced with the revision of the artifact's own row. Others count revisions of rows of their own (a registry record,
# a job), which say nothing about this one.
OWN_TYPES = frozenset({"artifact.lifecycle", "artifact.original_stored"})


def standing(event: ArtifactEvent) -> tuple[bool, int, int]:
    """Who wins: the artifact's own row by its revision, then anybody else by the place in the log."""
    own = event.type in OWN_TYPES
    return own, event.revision if own else 0, event.position


def fold(events: Iterable[ArtifactEvent]) -> FoldedArtifact:
    """All events of one artifact, at least one. A fact once known is not lost to an event without it."""
    ascending = sorted(events, key=standing)
    facts: dict[str, Any] = {}
    failure: ArtifactFailure | None = None
    for event in ascending:
        facts |= {name: value for name, value in asdict(event.facts).items() if value is not None}
        if event.error_code is not None or event.error_message is not None:
            failure = ArtifactFailure(event.error_code, event.error_message, event.facts.stage)
    return FoldedArtifact(
        artifact_hash=ascending[0].artifact_hash,
        facts=ArtifactFacts(**facts),
        failure=failure,
        revision=max((event.revision for event in ascending if event.type in OWN_TYPES), default=0),
        position=max(event.position for event in ascending),
        updated_at=max(event.occurred_at for event in ascending),
    )


def conclude(known: FoldedArtifact) -> ArtifactState:
    facts, failure = known.facts, standing_failure(known)
    said = asdict(facts)
    said["storage_location"] = facts.storage_location or storage_location(facts.synced, facts.local_copies)
    return ArtifactState(
        artifact_hash=known.artifact_hash,
        **said,
        error_code=failure.code if failure else None,
        error_message=failure.message if failure else None,
        is_frozen=is_frozen(facts.synced, facts.local_copies),
        revision=known.revision,
        position=known.position,
        updated_at=known.updated_at,
    )


def standing_failure(known: FoldedArtifact) -> ArtifactFailure | None:
    """A failure ends with the stage in which it was reported: what is ready after a retry has no error."""
    return known.failure if known.failure and known.failure.stage == known.facts.stage else None


# Rows: what one event of the log says about an artifact. Nothing is concluded here: null for what the event leaves out.

READ: tuple[type[Payload], ...] = (
    ArtifactRegistered,
    ArtifactLifecycle,
    OriginalStored,
    VideoProgressed,
    VideoTranscoded,
    VideoFailed,
    VideoRetried,
)
ARTIFACT_EVENT_TYPES = frozenset(payload.event_type for payload in READ)


def artifact_event(event: Event) -> ArtifactEvent:
    """Fields of the payload that have the name of a column, and what goes without saying."""
    payload = _payload(event)
    said = payload.model_dump() | _implied(payload)
    return ArtifactEvent(
        event_id=event.id,
        position=event.position,
        artifact_hash=parse_artifact_hash(said["artifact_hash"]),
        type=event.type,
        revision=event.revision,
        occurred_at=event.occurred_at,
        facts=ArtifactFacts(**{name: value for name, value in said.items() if name in FACT_NAMES}),
        error_code=said.get("error_code"),
        error_message=said.get("error_message"),
        context=EventContext(**{name: value for name, value in said.items() if name in CONTEXT_NAMES}),
    )


def _implied(payload: Payload) -> dict[str, Any]:
    """A job that failed says nothing of the artifact's stage: whether that ends it is for the artifact's owner."""
    match payload:
        case ArtifactRegistered():
            return {"stage": "requested"}
        case ArtifactLifecycle(status=status):
            return {"stage": status}
        case OriginalStored():
            return {"synced": True}  # it is announced once the object was verified
        case _:
            return {}


def _payload(event: Event) -> Payload:
    try:
        return PAYLOADS[event.type].model_validate(event.data)
    except ValidationError as error:
        wrong = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)]
        raise InvalidInput(f"{event.type} cannot be read", field=wrong[0], why=f"wrong: {', '.join(wrong)}") from None
