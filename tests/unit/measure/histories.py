"""Histories of one artifact as hypothesis makes them up: more confused than any real one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from uuid import UUID

from hypothesis import strategies as st

from touchline.kernel import ArtifactHash
from touchline.measure.lifecycle.rules import ARTIFACT_EVENT_TYPES, ArtifactEvent, ArtifactFacts

HASH = ArtifactHash("0123456789abcdef0123456789abcdef")

_TEXTS = st.sampled_from(["", "a", "b", "it's", "Müller ⚽"])
_COUNTS = st.integers(0, 3)
_TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
_FACTS = st.builds(
    ArtifactFacts,
    artifact_type=st.none() | st.sampled_from(["clip", "upload"]),
    stage=st.none() | st.sampled_from(["requested", "processing", "ready", "failed"]),
    progress_percent=st.none() | st.integers(0, 100),
    size_bytes=st.none() | st.integers(0, 2**63 - 1),
    duration_ms=st.none() | _COUNTS,
    width=st.none() | _COUNTS,
    height=st.none() | _COUNTS,
    original_key=st.none() | _TEXTS,
    manifest_key=st.none() | _TEXTS,
    poster_key=st.none() | _TEXTS,
    synced=st.none() | st.booleans(),
    local_copies=st.none() | _COUNTS,
    storage_location=st.sampled_from([None, "pending", "local", "freezing", "s3", "defrosting"]),
)


@st.composite
def histories(draw: st.DrawFn, artifact_hash: ArtifactHash = HASH) -> list[ArtifactEvent]:
    """Each event has a position and an id of its own; revisions repeat and go back, as those of other rows do."""
    positions = draw(st.lists(st.integers(1, 2**40), min_size=1, max_size=8, unique=True))
    return [
        ArtifactEvent(
            event_id=UUID(int=position),
            position=position,
            artifact_hash=artifact_hash,
            type=draw(st.sampled_from(sorted(ARTIFACT_EVENT_TYPES))),
            revision=draw(_COUNTS),
            occurred_at=draw(_TIMES),
            facts=draw(_FACTS),
            error_code=draw(st.none() | _TEXTS),
            error_message=draw(st.none() | _TEXTS),
        )
        for position in positions
    ]


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a history arrives: each event at least once, some again, in any order, in any batches."""

    random: Random

    def batches(self, history: list[ArtifactEvent]) -> list[list[ArtifactEvent]]:
        events = [*history, *self.random.choices(history, k=self.random.randint(0, len(history)))]
        self.random.shuffle(events)
        cuts = sorted(self.random.sample(range(1, len(events)), k=min(3, len(events) - 1)))
        return [events[start:end] for start, end in zip([0, *cuts], [*cuts, len(events)], strict=True)]


deliveries = st.builds(Delivery, st.randoms(use_true_random=False))
