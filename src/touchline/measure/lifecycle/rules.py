"""How events become a state. Pure: the same set of events gives the same state, in any order and however often.

The view `artifact_state_current` says `fold` in SQL; a property test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from .model import ArtifactEvent, ArtifactState, Facts, Failure, Knowledge, StorageLocation, Transfer

# Announced with the revision of the artifact's own row. Others count revisions of rows of their own (a registry record,
# a job), which say nothing about this one.
OWN_TYPES = frozenset({"artifact.lifecycle", "artifact.original_stored"})


def standing(event: ArtifactEvent) -> tuple[bool, int, int]:
    """Who wins: the artifact's own row by its revision, then anybody else by the place in the log."""
    own = event.type in OWN_TYPES
    return own, event.revision if own else 0, event.position


def fold(events: Iterable[ArtifactEvent]) -> Knowledge:
    """All events of one artifact, at least one. A fact once known is not lost to an event without it."""
    ascending = sorted(events, key=standing)
    facts: dict[str, Any] = {}
    failure: Failure | None = None
    for event in ascending:
        facts |= {name: value for name, value in asdict(event.facts).items() if value is not None}
        if event.error_code is not None or event.error_message is not None:
            failure = Failure(event.error_code, event.error_message, event.facts.stage)
    return Knowledge(
        artifact_hash=ascending[0].artifact_hash,
        facts=Facts(**facts),
        failure=failure,
        revision=max((event.revision for event in ascending if event.type in OWN_TYPES), default=0),
        position=max(event.position for event in ascending),
        updated_at=max(event.occurred_at for event in ascending),
    )


def conclude(known: Knowledge) -> ArtifactState:
    facts, failure = known.facts, standing_failure(known)
    return ArtifactState(
        artifact_hash=known.artifact_hash,
        **asdict(facts),
        error_code=failure.code if failure else None,
        error_message=failure.message if failure else None,
        storage_location=storage_location(facts.synced, facts.local_copies),
        is_frozen=is_frozen(facts.synced, facts.local_copies),
        revision=known.revision,
        position=known.position,
        updated_at=known.updated_at,
    )


def standing_failure(known: Knowledge) -> Failure | None:
    """A failure ends with the stage in which it was reported: what is ready after a retry has no error."""
    return known.failure if known.failure and known.failure.stage == known.facts.stage else None


def storage_location(
    synced: bool | None, local_copies: int | None, transfer: Transfer | None = None
) -> StorageLocation | None:
    """Where the bytes are read from; while they move, the move."""
    if transfer:
        return StorageLocation.FREEZING if transfer is Transfer.FREEZE else StorageLocation.DEFROSTING
    if local_copies:
        return StorageLocation.LOCAL
    if synced is None or local_copies is None:
        return None
    return StorageLocation.S3 if synced else StorageLocation.PENDING


def is_frozen(synced: bool | None, local_copies: int | None) -> bool | None:
    """In the object store and nowhere else. One known no is enough for a no; otherwise both must be known."""
    if synced is False or local_copies:
        return False
    return None if synced is None or local_copies is None else True
