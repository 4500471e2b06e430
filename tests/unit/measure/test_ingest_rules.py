from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from touchline.contracts.events import Event, Payload
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType, OriginalStored
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoTranscoded
from touchline.kernel import InvalidInput, TenantId
from touchline.measure.lifecycle.rules import ARTIFACT_EVENT_TYPES, ArtifactFacts, EventContext, artifact_event
from touchline.measure.lifecycle.store import rows_of

HASH = "0123456789abcdef0123456789abcdef"
TENANT, ID, USER, JOB = (UUID(int=number) for number in range(1, 5))
NOW = datetime(2026, 3, 31, 12, 0, 0, 123_456, tzinfo=UTC)


def in_the_log(kind: str, data: dict[str, Any]) -> Event:
    return Event(ID, kind, 1, TenantId(TENANT), f"artifact:{HASH}", 4, NOW, None, data, 17)


def announced(payload: Payload) -> Event:
    return in_the_log(payload.event_type, payload.model_dump(mode="json"))


@pytest.mark.parametrize(
    ("payload", "facts", "context"),
    [
        (
            ArtifactRegistered(
                artifact_hash=HASH,
                artifact_type=ArtifactType.UPLOAD,
                playback_id="abcdefgh12345678",
                internal_name="x" * 32,
                user_id=USER,
                title="not for analytics",
            ),
            ArtifactFacts(artifact_type="upload", stage="requested"),
            EventContext(internal_name="x" * 32, playback_id="abcdefgh12345678", user_id=USER),
        ),
        (
            ArtifactLifecycle(
                artifact_hash=HASH,
                artifact_type=ArtifactType.CLIP,
                internal_name="x" * 32,
                user_id=None,
                status="ready",
                size_bytes=5,
                local_copies=0,
            ),
            ArtifactFacts(artifact_type="clip", stage="ready", size_bytes=5, local_copies=0),
            EventContext(internal_name="x" * 32),
        ),
        (
            OriginalStored(artifact_hash=HASH, original_key="a/b", size_bytes=5, content_type="video/mp4"),
            ArtifactFacts(original_key="a/b", size_bytes=5, synced=True),
            EventContext(content_type="video/mp4"),
        ),
        (
            VideoProgressed(artifact_hash=HASH, job_id=JOB, attempt=2, job_type="transcode", progress_percent=40),
            ArtifactFacts(progress_percent=40),
            EventContext(job_id=JOB, attempt=2, job_type="transcode"),
        ),
        (
            VideoTranscoded(
                artifact_hash=HASH,
                job_id=JOB,
                attempt=2,
                manifest_key="m",
                poster_key="p",
                duration_ms=60_000,
                width=1920,
                height=1080,
            ),
            ArtifactFacts(manifest_key="m", poster_key="p", duration_ms=60_000, width=1920, height=1080),
            EventContext(job_id=JOB, attempt=2),
        ),
    ],
    ids=lambda value: getattr(value, "event_type", ""),
)
def test_what_each_type_says(payload: Payload, facts: ArtifactFacts, context: EventContext) -> None:
    row = artifact_event(announced(payload))
    assert (row.facts, row.context) == (facts, context)
    assert (row.event_id, row.position, row.artifact_hash, row.type) == (ID, 17, HASH, payload.event_type)
    assert (row.revision, row.occurred_at) == (4, NOW)


def test_a_failed_step_says_why_and_nothing_of_the_stage() -> None:
    failed = VideoFailed(
        artifact_hash=HASH, job_id=JOB, attempt=1, job_type="transcode", error_code="broken", error_message="no frames"
    )
    row = artifact_event(announced(failed))
    assert (row.error_code, row.error_message, row.facts.stage) == ("broken", "no frames", None)


def test_fields_that_come_later_do_not_matter() -> None:
    data = {"artifact_hash": HASH, "original_key": "k", "size_bytes": 1, "content_type": "video/mp4", "new": "field"}
    assert artifact_event(in_the_log("artifact.original_stored", data)).facts.original_key == "k"


@pytest.mark.parametrize(
    ("case", "kind", "data"),
    [
        ("no hash", "artifact.original_stored", {"original_key": "k", "size_bytes": 1, "content_type": "t"}),
        ("not a hash", "video.progressed",
            {"artifact_hash": "../etc", "job_id": str(JOB), "attempt": 1, "job_type": "t", "progress_percent": 1}),
        ("not a number", "video.progressed",
            {"artifact_hash": HASH, "job_id": str(JOB), "attempt": 1, "job_type": "t", "progress_percent": "secret"}),
        ("empty", "artifact.lifecycle", {}),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_without_repeating_it(case: str, kind: str, data: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        artifact_event(in_the_log(kind, data))
    assert caught.value.field, case
    assert "secret" not in str(caught.value)


def test_what_does_not_fit_its_column_is_refused_before_clickhouse_sees_it() -> None:
    data = {"artifact_hash": HASH, "original_key": "k", "size_bytes": 2**70, "content_type": "t"}
    with pytest.raises(OverflowError):
        rows_of(TenantId(TENANT), [artifact_event(in_the_log("artifact.original_stored", data))])


def test_only_what_is_about_artifacts_is_taken() -> None:
    assert {
        "artifact.registered",
        "artifact.lifecycle",
        "artifact.original_stored",
        "video.progressed",
        "video.transcoded",
        "video.failed",
        "video.retried",
    } == ARTIFACT_EVENT_TYPES
