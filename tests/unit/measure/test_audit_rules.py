"""What of the log is kept for the audit: every act, every state, and nothing that names people or content."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from touchline.contracts.events import Event, Payload, access, artifacts
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactType
from touchline.contracts.events.videos import JobChanged
from touchline.kernel import InvalidInput, Role, TenantId, new_artifact_hash
from touchline.measure.audit.rules import METADATA, SERVICE_EVENT_TYPES, AuditFilter, checked, service_event

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
PRIVATE = {"email", "title", "name", "playback_id", "internal_name", "original_key", "manifest_key", "error_message"}


def event_of(payload: Payload) -> Event:
    data = payload.model_dump(mode="json")
    ids = {"id": uuid4(), "tenant_id": TenantId(uuid4()), "key": payload.key, "position": 7}
    return Event(type=payload.event_type, version=1, revision=3, occurred_at=NOW, trace="request 1", data=data, **ids)


def lifecycle(status: str, **said: Any) -> ArtifactLifecycle:
    ids = {"artifact_hash": new_artifact_hash(), "internal_name": "x" * 32, "user_id": uuid4()}
    return ArtifactLifecycle(artifact_type=ArtifactType.UPLOAD, status=status, **ids, **said)


def test_every_act_and_every_event_of_artifacts_is_kept() -> None:
    assert {*access.PAYLOADS, *artifacts.PAYLOADS} <= set(METADATA)


def test_metadata_exists_and_is_neither_content_nor_a_name() -> None:
    for payload, names in METADATA.items():
        assert set(names) <= set(payload.model_fields), payload
        assert not PRIVATE & set(names), payload


def test_an_act_says_who_what_and_of_which_request() -> None:
    user, admin = uuid4(), str(uuid4())
    change = access.UserRoleChanged(user_id=user, by=admin, old_role=Role.VIEWER, new_role=Role.ADMIN)
    kept = service_event(event_of(change))
    assert kept is not None
    assert (kept.type, kept.subject_kind, kept.subject, kept.actor) == (
        *("user.role_changed", "user", str(user)),
        f"user:{admin}",
    )
    assert (kept.metadata, kept.trace, kept.revision) == (
        {"old_role": "viewer", "new_role": "admin"},
        "request 1",
        3,
    )


def test_states_are_kept_and_progress_is_not() -> None:
    assert service_event(event_of(lifecycle("processing", progress_percent=40))) is None
    kept = service_event(event_of(lifecycle("ready", progress_percent=100, size_bytes=5, synced=True)))
    assert kept is not None
    assert kept.metadata == {"artifact_type": "upload", "status": "ready", "size_bytes": 5, "synced": True}
    assert kept.actor is None  # it does not say who


def test_of_jobs_only_what_people_did() -> None:
    job = {"job_id": uuid4(), "job_type": "ocr", "video_id": uuid4(), "status": "failed", "attempt": 1}
    for actor in (None, "system", "processing"):
        assert service_event(event_of(JobChanged(**job, retry_count=0, actor=actor))) is None
    kept = service_event(event_of(JobChanged(**job, retry_count=0, actor="cli")))
    assert kept is not None
    assert (kept.actor, kept.subject_kind) == ("cli", "job")


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (AuditFilter(types=("user.created", "no.such")), "types"),
        (AuditFilter(actor=""), "actor"),
        (AuditFilter(actor="a\0b"), "actor"),
        (AuditFilter(actor="x" * 201), "actor"),
        (AuditFilter(since=datetime(1600, 1, 1)), "since"),  # noqa: DTZ001  people leave the zone out
        (AuditFilter(until=datetime(9999, 1, 1, tzinfo=UTC)), "until"),
        (AuditFilter(since=NOW, until=NOW), "until"),
    ],
)
def test_a_filter_that_can_find_nothing_is_refused(wanted: AuditFilter, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        checked(wanted)
    assert refused.value.field == field


def test_a_filter_that_can_find_something() -> None:
    plain = checked(AuditFilter(types=(*SERVICE_EVENT_TYPES, "user.created"), since=NOW.replace(tzinfo=None)))
    assert (plain.since, len(plain.types)) == (NOW, len(SERVICE_EVENT_TYPES))
