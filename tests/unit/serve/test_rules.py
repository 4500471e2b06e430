from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given, strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.registry import NewUpload
from touchline.contracts.settings import ByteSize
from touchline.kernel import (
    Conflict,
    Defect,
    InvalidInput,
    LimitExceeded,
    QuotaExceeded,
    TenantId,
    TouchlineError,
    Unavailable,
    UserId,
    new_artifact_hash,
    new_internal_name,
)
from touchline.media import errors as media
from touchline.platform.objects.rules import LARGEST_OBJECT_BYTES, MEBIBYTE as MIB, PartPlan, part_plan
from touchline.serve.artifacts.rules import NO_RUN, Artifact, Reason, existing, lifecycle
from touchline.serve.registry import rules as registry
from touchline.serve.registry.rules import Usage
from touchline.serve.settings import ServeSettings
from touchline.serve.uploads import rules as uploads
from touchline.serve.uploads.rules import Step, is_orphan, is_overfilled

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SETTINGS = ServeSettings(largest_upload=ByteSize(1000), stored_quota=ByteSize(5000), concurrent_uploads=3)
NEW = NewUpload("key", "match.mp4", 1000, "The match", "video/mp4")
ARTIFACT = Artifact(
    tenant_id=TenantId(uuid4()),
    artifact_hash=new_artifact_hash(),
    artifact_type=ArtifactType.UPLOAD,
    internal_name=new_internal_name(),
    user_id=UserId(uuid4()),
    status=ArtifactStatus.UPLOADING,
    original_key="videos/original/1/master.mp4",
    content_type="video/mp4",
    size_bytes=1000,
    synced=False,
    local_copies=0,
    transfer=None,
    run=NO_RUN,
    progress_percent=None,
    manifest_key=None,
    poster_key=None,
    duration_ms=None,
    width=None,
    height=None,
    reason=None,
    created_at=NOW,
    started_at=None,
    ended_at=None,
    retention=timedelta(days=30),
    retention_until=None,
    pinned=False,
    revision=7,
)


@pytest.mark.parametrize(
    ("case", "sent", "stored"),
    [
        ("as it is", {}, {}),
        ("a title is one line", {"title": "  The \n match "}, {}),
        ("without a title: the name", {"title": ""}, {"title": "match"}),
        ("a type that says nothing", {"content_type": "application/octet-stream"}, {}),
        ("a type is ours", {"content_type": "video/anything"}, {}),
        ("no type at all", {"content_type": ""}, {}),
        (
            "an ending in capitals",
            {"file_name": "match.MOV"},
            {"file_name": "match.MOV", "content_type": "video/quicktime"},
        ),
    ],
)
def test_a_request_is_stored_in_one_form(case: str, sent: dict[str, str], stored: dict[str, str]) -> None:
    assert registry.checked(replace(NEW, **sent), SETTINGS) == replace(NEW, **stored), case


@pytest.mark.parametrize("size", [0, -1])
def test_an_empty_file_is_no_upload(size: int) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        registry.checked(replace(NEW, size_bytes=size), SETTINGS)


def test_a_file_that_is_too_large_is_refused_before_it_is_sent() -> None:
    with pytest.raises(LimitExceeded, match="it has 1,001 bytes; the limit is 1,000 bytes"):
        registry.checked(replace(NEW, size_bytes=1001), SETTINGS)
    with pytest.raises(LimitExceeded, match=r"it has 2\.5 GB; the limit is 1\.0 kB"):
        registry.checked(replace(NEW, size_bytes=2_500_000_000), SETTINGS)


@pytest.mark.parametrize(
    ("usage", "fits"),
    [
        (Usage(0, 0), True),
        (Usage(4000, 2), True),
        (Usage(4001, 0), False),
        (Usage(0, 3), False),
        (Usage(0, 4), False),
    ],
)
def test_a_quota_is_used_up_exactly(usage: Usage, fits: bool) -> None:
    if fits:
        registry.require_room(usage, 1000, SETTINGS)
    else:
        with pytest.raises(QuotaExceeded):
            registry.require_room(usage, 1000, SETTINGS)


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (ArtifactStatus.REQUESTED, Step.ABANDON),
        (ArtifactStatus.UPLOADING, Step.ABANDON),
        (ArtifactStatus.COMPLETING, Step.CONTINUE),
        (ArtifactStatus.ABORTING, Step.RELEASE),
        (ArtifactStatus.FAILED, Step.RELEASE),
        (ArtifactStatus.DELETED, Step.RELEASE),
        (ArtifactStatus.PROCESSING, None),
        (ArtifactStatus.READY, None),
    ],
)
def test_what_the_owner_does(status: ArtifactStatus, step: Step | None) -> None:
    if step is None:
        with pytest.raises(Defect):
            uploads.next_step(status)
    else:
        assert uploads.next_step(status) is step


@pytest.mark.parametrize("kind", [*media.InvalidMedia.__subclasses__(), media.InvalidMedia, media.MediaLimitExceeded])
def test_every_fault_of_a_file_has_a_code_and_comes_back_as_itself(kind: type[TouchlineError]) -> None:
    reason = uploads.refusal(kind("what", why="why"))
    assert reason
    again = uploads.failed(replace(ARTIFACT, status=ArtifactStatus.FAILED, reason=reason))
    assert type(again) is kind
    assert (again.what, again.hint) == ("what: why", kind.next_step)
    assert uploads.REFUSALS[reason.code] is kind


def test_troubles_of_ours_are_no_fault_of_the_file() -> None:
    assert uploads.refusal(Unavailable("away")) is None
    assert uploads.refusal(InvalidInput("parts are missing")) is None


def test_an_upload_that_failed_otherwise_is_a_conflict() -> None:
    error = uploads.failed(replace(ARTIFACT, status=ArtifactStatus.FAILED, reason=uploads.ABANDONED))
    assert isinstance(error, Conflict)


def test_parts_are_asked_for_by_their_numbers() -> None:
    plan = PartPlan(95, 10)
    assert uploads.valid_numbers([3, 1, 3], plan, 5) == [1, 3]
    for wrong in ([], [0], [11], list(range(1, 7))):
        with pytest.raises(InvalidInput):
            uploads.valid_numbers(wrong, plan, 5)


def test_an_event_says_all_that_is_known() -> None:
    known = replace(ARTIFACT, status=ArtifactStatus.FAILED, reason=Reason("code", "words"), progress_percent=50)
    told = lifecycle(known)
    assert (told.status, told.error_code, told.error_message, told.progress_percent) == ("failed", "code", "words", 50)
    assert (told.synced, told.local_copies, told.duration_ms) == (False, 0, None)


def test_deleted_is_unknown() -> None:
    answers: list[str] = []
    for found in (None, replace(ARTIFACT, status=ArtifactStatus.DELETED)):
        with pytest.raises(TouchlineError) as caught:
            existing(found, ARTIFACT.artifact_hash)
        answers.append(f"{type(caught.value)} {caught.value}")
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("size_bytes", "stored_bytes", "overfilled"),
    [(1, 13, False), (1, 14, True), (100, 1300, False), (100, 1301, True), (25 * MIB, 275 * MIB, False)],
)
def test_a_part_may_be_sent_again_but_not_for_ever(size_bytes: int, stored_bytes: int, overfilled: bool) -> None:
    assert is_overfilled(part_plan(size_bytes), stored_bytes) is overfilled


@given(st.integers(1, LARGEST_OBJECT_BYTES))
def test_a_sender_who_repeats_each_part_once_is_never_stopped(size_bytes: int) -> None:
    assert not is_overfilled(part_plan(size_bytes), 2 * size_bytes)


def test_an_upload_is_nobodys_only_when_its_time_is_over() -> None:
    now = datetime(2026, 3, 31, tzinfo=UTC)
    assert not is_orphan(now - timedelta(days=1), now, timedelta(days=1))
    assert is_orphan(now - timedelta(days=1, seconds=1), now, timedelta(days=1))
    assert not is_orphan(now + timedelta(days=1), now, timedelta(days=1)), "a store's clock may be ahead"
