from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest

from tests.support.sessions import facts_of
from touchline.contracts.events import PAYLOADS, Event, Payload
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType, OriginalStored
from touchline.contracts.events.streams import StreamEnded, StreamInterrupted, StreamLive, StreamPlayable, StreamResumed
from touchline.contracts.events.videos import JobChanged, VideoTranscoded
from touchline.contracts.events.watch import GoalChanged, GoalVideoJudged, GoalVideoKept
from touchline.kernel import InvalidInput, TenantId
from touchline.measure.analytics.rules import Progress, progress_of
from touchline.measure.ingest.self_metrics import SELF_METRIC_TYPES, records_of
from touchline.measure.sessions.model import SessionRow
from touchline.measure.sessions.parser import Accepted, read_text

HASH = "0123456789abcdef0123456789abcdef"
VIDEO, JOB, TENANT = UUID(HASH), UUID(int=2), TenantId(UUID(int=3))
NOON = datetime(2026, 1, 9, 12, 0, 0, 123_999, tzinfo=UTC)
NOON_MS = 1_767_960_000_123


def logged(position: int, payload: Payload, after_ms: int = 0) -> Event:
    data = payload.model_dump(mode="json")
    when = NOON + timedelta(milliseconds=after_ms)
    return Event(UUID(int=position), payload.event_type, 1, TENANT, payload.key, 1, when, None, data, position)


def job(status: str, job_type: str = "transcode", **said: Any) -> JobChanged:
    return JobChanged(job_id=JOB, job_type=job_type, video_id=VIDEO, status=status, attempt=1, retry_count=0, **said)


def upload(status: str, kind: ArtifactType = ArtifactType.UPLOAD, **said: Any) -> ArtifactLifecycle:
    return ArtifactLifecycle(
        artifact_hash=HASH, artifact_type=kind, internal_name="x", user_id=None, status=status, **said
    )


def registered(kind: ArtifactType) -> ArtifactRegistered:
    return ArtifactRegistered(
        artifact_hash=HASH, artifact_type=kind, playback_id="p", internal_name="x", user_id=None, title=""
    )


def goal(what: str, outcome: str | None = None) -> GoalChanged:
    return GoalChanged(event_id="77_goal_1", generation=2, fixture_id=77, what=what, outcome=outcome)


TRANSCODED = VideoTranscoded(
    artifact_hash=HASH, job_id=JOB, attempt=1, manifest_key="m", poster_key="p", duration_ms=1, width=1, height=1
)
KEPT = GoalVideoKept(
    artifact_hash=HASH,
    event_id="77_goal_1",
    generation=2,
    fixture_id=77,
    object_key="k",
    size_bytes=1,
    content_type="video/mp4",
    file_name="f",
    title="t",
    retention_until=NOON,
)


JUDGED = GoalVideoJudged(
    event_id="77_goal_1", generation=2, fixture_id=77, post_id="post", video_index=1, began_at=NOON, rejected="a screen"
)


STREAM, PUBLISHER = UUID(int=5), UUID(int=6)
SESSION: dict[str, Any] = {"stream_id": STREAM, "session_id": PUBLISHER, "node_id": "node"}
BEGUN, PLAYABLE = StreamLive(**SESSION), StreamPlayable(**SESSION)
BROKEN, BACK = StreamInterrupted(**SESSION), StreamResumed(**SESSION)


def row_of(*happened: tuple[Payload, int]) -> SessionRow:
    events = [logged(position, payload, after_ms) for position, (payload, after_ms) in enumerate(happened, start=1)]
    (facts,) = facts_of(record for event in events for record in records_of(event)).values()
    return facts.session


@pytest.mark.parametrize(
    ("job_type", "workflow_type"),
    [
        ("transcode", "transcode"),
        ("ocr", "inference"),
        ("sample", "transform"),
        ("segment_index", "transform"),
        ("clip_generate", "transform"),
    ],
)
def test_a_job_is_a_session(job_type: str, workflow_type: str) -> None:
    row = row_of((job("queued", job_type), 0), (job("processing", job_type), 400), (job("done", job_type), 1000))
    assert row.workflow_session_id == f"{HASH}|{JOB}"
    assert (row.workflow_type, row.workflow_id, row.gateway) == (workflow_type, job_type, "touchline")
    assert (row.session_start_ts, row.closed_ts) == (NOON_MS, NOON_MS + 1000)
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (1000, 600, 1000)
    assert row.gateway_runner_lag_ms == 400  # how long it waited for a worker
    assert (row.startup_outcome, row.error_count, row.quality_flags) == ("success", 0, ())


def test_a_video_is_ready_when_its_first_rendition_is() -> None:
    row = row_of((job("queued"), 0), (job("processing"), 10), (TRANSCODED, 70), (TRANSCODED, 500), (job("done"), 510))
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (70, 60, 70)
    assert row.closed_ts == row.session_end_ts == NOON_MS + 510


def test_failures_of_a_job_are_its_errors() -> None:
    again = job("queued", error_type="no_space", error_message="the disk is full")
    retried = row_of((job("queued"), 0), (job("processing"), 1), (again, 2), (job("processing"), 3), (job("done"), 4))
    assert (retried.startup_outcome, retried.error_count, retried.startup_ms) == ("success", 1, 4)
    given_up = row_of((job("queued"), 0), (again, 2), (job("failed", error_type="no_space", error_message=""), 5))
    assert (given_up.startup_outcome, given_up.error_count, given_up.closed_ts) == ("unexcused", 2, NOON_MS + 5)
    assert row_of((job("queued"), 0), (job("failed"), 1)).error_count == 1


def test_an_upload_is_a_session_until_it_can_be_played() -> None:
    row = row_of(
        (registered(ArtifactType.UPLOAD), 0),
        (upload("uploading"), 50),
        (upload("completing"), 900),
        (upload("processing"), 1000),
        (upload("processing", progress_percent=50), 1500),
        (upload("ready"), 4000),
        (upload("deleted", manifest_key="m"), 9_000_000),
    )
    assert (row.workflow_session_id, row.workflow_type, row.workflow_id) == (f"{HASH}|upload", "transform", "upload")
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (1000, 950, 4000)
    assert (row.startup_outcome, row.closed_ts, row.session_end_ts) == ("success", NOON_MS + 4000, NOON_MS + 4000)


def test_an_upload_that_fails() -> None:
    failed = upload("failed", error_code="not_a_video", error_message="the file is not a video")
    for deleted in ([], [(upload("deleted", error_code="not_a_video"), 9)]):
        row = row_of((registered(ArtifactType.UPLOAD), 0), (upload("uploading"), 5), (failed, 6), *deleted)
        assert (row.startup_outcome, row.error_count, row.closed_ts) == ("unexcused", 1, NOON_MS + 6)
        assert progress_of(replace(row, is_final=0)) is Progress.UNEXCUSED


AGAIN = job("queued", error_type="no_space", error_message="the disk is full")
CANCELLED_BY: dict[str, Any] = {"error_type": "Cancelled", "error_message": "cancelled by anna"}
PURGED: dict[str, Any] = {"error_type": "Cancelled", "error_message": "the video is purged"}
ABORTED: dict[str, Any] = {"error_code": "upload_aborted", "error_message": "the sender cancelled the upload"}
ABANDONED: dict[str, Any] = {"error_code": "upload_abandoned", "error_message": "the upload was not finished in time"}
WITH_ITS_PARENT: dict[str, Any] = {
    "error_type": "ParentFailed",
    "error_message": f"transcode job {JOB} failed: Cancelled: by anna",
}


@pytest.mark.parametrize(
    "happened",
    [
        (job("queued"), job("failed", **CANCELLED_BY)),
        (job("queued"), job("processing"), job("failed", **PURGED)),
        (job("queued"), AGAIN, job("processing"), job("failed", **CANCELLED_BY)),
        (job("queued", "sample"), job("failed", "sample", **WITH_ITS_PARENT)),
        (registered(ArtifactType.UPLOAD), upload("aborting"), upload("failed", **ABORTED)),
        (registered(ArtifactType.UPLOAD), upload("uploading"), upload("failed", **ABANDONED)),
        (registered(ArtifactType.UPLOAD), upload("processing"), upload("deleted")),
    ],
)
def test_what_was_cancelled_is_neither_a_success_nor_a_failure(happened: tuple[Payload, ...]) -> None:
    """By a person, or because its video was deleted; whatever went wrong before."""
    row = row_of(*((payload, after_ms) for after_ms, payload in enumerate(happened)))
    assert (row.startup_outcome, row.closed_ts) == ("excused", NOON_MS + len(happened) - 1)
    assert progress_of(replace(row, is_final=0)) is Progress.CANCELLED


def test_what_waited_for_a_failed_job_fails_with_it() -> None:
    message = f"transcode job {JOB} failed: no_space: the disk is full"
    row = row_of((job("queued"), 0), (job("failed", error_type="ParentFailed", error_message=message), 1))
    assert row.startup_outcome == "unexcused"


@pytest.mark.parametrize(
    ("last", "outcome", "errors"),
    [
        (goal("complete", "found"), "success", 0),
        (goal("complete", None), "success", 0),
    ],
)
def test_a_goal_search_that_finds(last: GoalChanged, outcome: str, errors: int) -> None:
    row = row_of(
        (goal("seen"), -60_000),
        (goal("stable"), 0),
        (goal("searching"), 200),
        (goal("searched"), 900),
        (KEPT, 5000),
        (goal("archived"), 5000),
        (goal("searched"), 60_000),
        (last, 90_000),
    )
    assert (row.workflow_session_id, row.workflow_type, row.workflow_id) == (
        "77_goal_1|search-2",
        "batch",
        "goal_search",
    )
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (5000, 700, 5000)
    assert (row.startup_outcome, row.error_count, row.closed_ts) == (outcome, errors, NOON_MS + 90_000)


@pytest.mark.parametrize(
    ("last", "outcome", "errors"),
    [
        (goal("complete", "nothing_found"), "excused", 0),
        (goal("removed"), "excused", 0),
        (goal("moved"), "excused", 0),
        (goal("complete", "search_unavailable"), "unexcused", 1),
        (goal("complete", "lost"), "unexcused", 1),
    ],
)
def test_a_goal_search_that_finds_nothing(last: GoalChanged, outcome: str, errors: int) -> None:
    row = row_of((goal("stable"), 0), (goal("searching"), 200), (last, 900))
    assert (row.startup_outcome, row.error_count, row.closed_ts) == (outcome, errors, NOON_MS + 900)


def test_a_validation_is_a_session_told_at_its_end() -> None:
    row = row_of((JUDGED, 2500))
    assert (row.workflow_session_id, row.workflow_type) == ("77_goal_1|validation-2-post-1", "inference")
    assert (row.session_start_ts, row.closed_ts, row.workflow_id) == (NOON_MS, NOON_MS + 2500, "validation")
    assert (row.startup_ms, row.e2e_proxy_ms, row.gateway_runner_lag_ms) == (2500, 2500, 0)
    assert (row.prompt_to_playable_ms, row.startup_outcome) == (2500, "success")


def test_each_publisher_of_a_stream_is_a_session() -> None:
    left = StreamEnded(**SESSION, reason="publisher_left")
    row = row_of((BEGUN, 0), (PLAYABLE, 2400), (BROKEN, 60_000), (BACK, 63_000), (left, 90_000))
    assert row.workflow_session_id == f"{STREAM}|{PUBLISHER}"
    assert (row.workflow_type, row.workflow_id) == ("live", "publish")
    assert (row.startup_ms, row.e2e_proxy_ms, row.prompt_to_playable_ms) == (2400, 2400, 2400)
    assert (row.startup_outcome, row.error_count) == ("success", 1), "the break"
    assert (row.closed_ts, row.session_end_ts) == (NOON_MS + 90_000, NOON_MS + 90_000)


@pytest.mark.parametrize("reason", ["refused", "node_lost"])
def test_a_publisher_that_is_refused_or_lost_has_an_error(reason: str) -> None:
    ended = StreamEnded(**SESSION, reason=reason, problem="the codec is HEVC")
    row = row_of((BEGUN, 0), (ended, 500))
    assert (row.startup_outcome, row.error_count, row.closed_ts) == ("unexcused", 1, NOON_MS + 500)


def test_a_goal_whose_scorer_nobody_knows_was_never_searched_for() -> None:
    assert row_of((goal("seen"), 0), (goal("complete", "unidentified"), 9)).startup_outcome == "not_in_denominator"


@pytest.mark.parametrize(
    "payload",
    [
        registered(ArtifactType.CLIP),
        upload("ready", ArtifactType.CLIP),
        upload("ready", ArtifactType.DVR),
        upload("requested"),
        upload("deleted", manifest_key="m"),
        goal("seen"),
        goal("archived"),
        job("paused"),
        BACK,
        OriginalStored(artifact_hash=HASH, original_key="k", size_bytes=1, content_type="video/mp4"),
    ],
    ids=lambda payload: f"{payload.event_type}-{getattr(payload, 'status', '')}{getattr(payload, 'what', '')}",
)
def test_what_is_no_step_says_nothing(payload: Payload) -> None:
    assert records_of(logged(1, payload)) == []


def test_every_record_is_accepted_and_has_an_id_made_from_its_events() -> None:
    payloads = [
        registered(ArtifactType.UPLOAD),
        upload("ready"),
        job("queued"),
        job("failed"),
        TRANSCODED,
        goal("stable"),
        JUDGED,
        KEPT,
        BEGUN,
        PLAYABLE,
        BROKEN,
        StreamEnded(**SESSION, reason="publisher_left"),
    ]
    assert {payload.event_type for payload in payloads} == SELF_METRIC_TYPES <= PAYLOADS.keys()
    for position, payload in enumerate(payloads, start=1):
        records = records_of(logged(position, payload))
        readings = [read_text(msgspec.json.encode(record)) for record in records]
        assert records == records_of(logged(position, payload))
        assert all(isinstance(reading, Accepted) for reading in readings)
        assert len({record["id"] for record in records}) == len(records) > 0
        assert all(record["id"].startswith(f"{UUID(int=position)}/") for record in records)


def test_an_event_that_cannot_be_read_is_refused_by_name() -> None:
    event = Event(UUID(int=1), "job.changed", 1, TENANT, "job:1", 1, NOON, None, {"job_id": "x"}, 1)
    with pytest.raises(InvalidInput, match=r"job\.changed cannot be read"):
        records_of(event)
