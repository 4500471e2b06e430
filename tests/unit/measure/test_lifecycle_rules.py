from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given

from touchline.contracts.events.artifacts import StorageLocation, StorageTransfer, is_frozen, storage_location
from touchline.measure.lifecycle.rules import (
    ArtifactEvent,
    ArtifactFacts,
    ArtifactFailure,
    FoldedArtifact,
    conclude,
    fold,
)

from .histories import HASH, Delivery, deliveries, histories

START = datetime(2026, 3, 31, 12, tzinfo=UTC)
LIFECYCLE, REGISTERED = "artifact.lifecycle", "artifact.registered"
STORED, TRANSCODED, FAILED = "artifact.original_stored", "video.transcoded", "video.failed"


def event(
    position: int, facts: ArtifactFacts, kind: str = LIFECYCLE, revision: int = 1, error: str | None = None
) -> ArtifactEvent:
    moment = START + timedelta(seconds=position)
    return ArtifactEvent(UUID(int=position), position, HASH, kind, revision, moment, facts, error)


@pytest.mark.parametrize(
    ("case", "events", "facts"),
    [
        (
            "the highest revision wins",
            [
                event(1, ArtifactFacts(stage="processing"), revision=1),
                event(2, ArtifactFacts(stage="ready"), revision=2),
            ],
            ArtifactFacts(stage="ready"),
        ),
        (
            "also when it has the lower position",
            [event(1, ArtifactFacts(stage="deleted"), revision=5), event(2, ArtifactFacts(stage="ready"), revision=4)],
            ArtifactFacts(stage="deleted"),
        ),
        (
            "of one revision the later wins",
            [
                event(1, ArtifactFacts(size_bytes=1), STORED, revision=3),
                event(2, ArtifactFacts(size_bytes=2), revision=3),
            ],
            ArtifactFacts(size_bytes=2),
        ),
        (
            "what is known is not lost to an event without it",
            [event(1, ArtifactFacts(size_bytes=7), revision=1), event(2, ArtifactFacts(stage="ready"), revision=2)],
            ArtifactFacts(stage="ready", size_bytes=7),
        ),
        (
            "zero, no and nothing are values",
            [
                event(1, ArtifactFacts(size_bytes=7, synced=True, poster_key="a"), revision=1),
                event(2, ArtifactFacts(size_bytes=0, synced=False, poster_key=""), revision=2),
            ],
            ArtifactFacts(size_bytes=0, synced=False, poster_key=""),
        ),
        (
            "a job's revision does not beat the artifact's",
            [
                event(1, ArtifactFacts(width=1920), revision=2),
                event(2, ArtifactFacts(width=640), TRANSCODED, revision=90),
            ],
            ArtifactFacts(width=1920),
        ),
        (
            "what processing says fills what nobody else has said",
            [
                event(1, ArtifactFacts(stage="processing"), revision=2),
                event(2, ArtifactFacts(duration_ms=5), TRANSCODED, revision=1),
            ],
            ArtifactFacts(stage="processing", duration_ms=5),
        ),
        (
            "among the others the later wins, whatever their rows count",
            [
                event(1, ArtifactFacts(progress_percent=10), TRANSCODED, revision=90),
                event(2, ArtifactFacts(progress_percent=40), TRANSCODED, revision=2),
            ],
            ArtifactFacts(progress_percent=40),
        ),
    ],
)
def test_which_fact_counts(case: str, events: list[ArtifactEvent], facts: ArtifactFacts) -> None:
    assert fold(events).facts == facts, case


@pytest.mark.parametrize(
    ("case", "events", "told"),
    [
        ("while it has failed", [event(1, ArtifactFacts(stage="failed"), error="no_video")], "no_video"),
        (
            "also when a later event of that stage does not repeat it",
            [
                event(1, ArtifactFacts(stage="failed"), error="no_video"),
                event(2, ArtifactFacts(stage="failed"), revision=2),
            ],
            "no_video",
        ),
        (
            "not after a retry",
            [
                event(1, ArtifactFacts(stage="failed"), error="no_video"),
                event(2, ArtifactFacts(stage="ready"), revision=2),
            ],
            None,
        ),
        (
            "not that of a step that did not end the artifact",
            [event(1, ArtifactFacts(stage="ready")), event(2, ArtifactFacts(), FAILED, revision=9, error="no_text")],
            None,
        ),
        ("never without one", [event(1, ArtifactFacts(stage="failed"))], None),
    ],
)
def test_when_an_error_is_told(case: str, events: list[ArtifactEvent], told: str | None) -> None:
    assert conclude(fold(events)).error_code == told, case


def test_an_errors_message_is_not_mixed_with_another_errors_code() -> None:
    first = ArtifactEvent(
        UUID(int=1), 1, HASH, LIFECYCLE, 1, START, ArtifactFacts(stage="failed"), "old", "old message"
    )
    second = ArtifactEvent(UUID(int=2), 2, HASH, LIFECYCLE, 2, START, ArtifactFacts(stage="failed"), "new", None)
    assert fold([first, second]).failure == ArtifactFailure("new", None, "failed")


def test_revision_position_and_time_are_the_highest() -> None:
    events = [
        event(8, ArtifactFacts(), revision=4),
        event(9, ArtifactFacts(), TRANSCODED, revision=90),
        event(3, ArtifactFacts(), REGISTERED, revision=7),
    ]
    known = fold(events)
    assert (known.revision, known.position, known.updated_at) == (4, 9, START + timedelta(seconds=9))
    assert fold(events[1:]).revision == 0


@pytest.mark.parametrize(
    ("synced", "local_copies", "location", "frozen"),
    [
        (None, None, None, None),
        (None, 0, None, None),
        (None, 2, StorageLocation.LOCAL, False),
        (False, None, None, False),
        (False, 0, StorageLocation.PENDING, False),
        (False, 1, StorageLocation.LOCAL, False),
        (True, None, None, None),
        (True, 0, StorageLocation.S3, True),
        (True, 3, StorageLocation.LOCAL, False),
    ],
)
def test_where_the_bytes_are(
    synced: bool | None, local_copies: int | None, location: StorageLocation | None, frozen: bool | None
) -> None:
    assert storage_location(synced, local_copies) == location
    assert is_frozen(synced, local_copies) is frozen


@pytest.mark.parametrize(
    ("transfer", "location"),
    [(StorageTransfer.FREEZE, StorageLocation.FREEZING), (StorageTransfer.DEFROST, StorageLocation.DEFROSTING)],
)
@pytest.mark.parametrize(("synced", "local_copies"), [(None, None), (False, 1), (True, 0), (True, 1)])
def test_while_bytes_move_the_move_is_told(
    transfer: StorageTransfer, location: StorageLocation, synced: bool | None, local_copies: int | None
) -> None:
    assert storage_location(synced, local_copies, transfer) == location


def test_a_state_says_all_that_is_known() -> None:
    facts = ArtifactFacts(
        "upload",
        "ready",
        100,
        1,
        2,
        3,
        4,
        "original",
        "manifest",
        "poster",
        synced=True,
        local_copies=0,
        storage_location="s3",
    )
    state = conclude(FoldedArtifact(HASH, facts, None, 3, 9, START))
    assert {name: getattr(state, name) for name in ArtifactFacts.__slots__} == {
        name: getattr(facts, name) for name in ArtifactFacts.__slots__
    }
    assert (state.storage_location, state.is_frozen) == (StorageLocation.S3, True)
    assert (state.artifact_hash, state.revision, state.position, state.updated_at) == (HASH, 3, 9, START)


@given(histories(), deliveries)
def test_order_and_number_of_deliveries_change_nothing(history: list[ArtifactEvent], delivery: Delivery) -> None:
    assert fold(event for batch in delivery.batches(history) for event in batch) == fold(history)


@given(histories())
def test_no_fact_is_ever_lost(history: list[ArtifactEvent]) -> None:
    known = fold(history).facts
    for name in ArtifactFacts.__slots__:
        said = [getattr(event.facts, name) for event in history if getattr(event.facts, name) is not None]
        assert getattr(known, name) in (said or [None])
