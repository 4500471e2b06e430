"""Which events of the log are kept for the audit, and what is kept of them. Pure.

Invariants: metadata only, which is what this table lists by name: no titles, names of people, keys or secrets. An actor
is `user:<id>`, `token:<id of its user>`, `cli` or a part of Touchline; None is an event that does not say who.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from touchline.contracts.events import PAYLOADS, Event, Payload, access, artifacts, playback, videos, watch
from touchline.kernel import InvalidInput

METADATA: Mapping[type[Payload], tuple[str, ...]] = {
    access.TenantCreated: ("slug",),
    access.TenantRenamed: (),
    access.TenantSuspended: (),
    access.TenantResumed: (),
    access.TenantSettingsChanged: ("retention_ms",),
    access.TenantEmbedOriginsChanged: ("origins",),
    access.UserCreated: ("role",),
    access.UserRoleChanged: ("old_role", "new_role"),
    access.UserDisabled: (),
    access.UserEnabled: (),
    access.UserPasswordChanged: (),
    access.UserLinkIssued: ("expires_at",),
    access.TokenIssued: ("user_id", "scopes", "expires_at"),
    access.TokenRevoked: ("user_id",),
    access.SessionOpened: ("user_id", "method"),
    access.SessionEnded: ("user_id", "because"),
    artifacts.ArtifactRegistered: ("artifact_type", "user_id"),
    artifacts.ArtifactRenamed: (),
    artifacts.ArtifactLifecycle: (
        *("artifact_type", "status", "size_bytes", "synced", "local_copies", "storage_location", "error_code"),
    ),
    artifacts.OriginalStored: ("size_bytes", "content_type"),
    artifacts.OriginalVanished: ("missing_since",),
    artifacts.OriginalReturned: (),
    artifacts.ArtifactUndeleted: (),
    artifacts.ArtifactPinned: ("pinned",),
    artifacts.PurgeDue: (),
    artifacts.ArtifactPurged: (),
    artifacts.ForgetDue: (),
    artifacts.HoldingReleased: ("holder",),
    playback.ShareLinkCreated: ("artifact_hash", "expires_at"),
    playback.ShareLinkRevoked: ("artifact_hash",),
    videos.VideoPurged: ("objects",),
    videos.JobChanged: ("job_type", "status", "priority"),
    watch.GoalVideoPinned: ("pinned",),
}
SERVICE_EVENT_TYPES = frozenset(payload.event_type for payload in METADATA)
ARTIFACT = "artifact"  # the kind of subject
PEOPLE = ("user:", "token:", "cli")


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """One act, or one change of state, as it is kept."""

    event_id: UUID
    position: int
    type: str
    subject_kind: str
    subject: str  # its id
    actor: str | None
    occurred_at: datetime
    revision: int
    trace: str | None  # of the request that caused it
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    subject_kind: str | None = None
    subject: str | None = None
    types: Sequence[str] = ()
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # exclusive


@dataclass(frozen=True, slots=True)
class AuditWindow:
    """So many events strictly between two positions of the log: the newest first, or the oldest of them."""

    size: int
    after: int | None = None  # listed after it, so older
    before: int | None = None
    from_the_end: bool = False


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Newest first."""

    events: Sequence[ServiceEvent]
    has_next: bool
    has_previous: bool


def service_event(event: Event) -> ServiceEvent | None:
    """None for what is no act and no new state: progress, and what workers report of their jobs."""
    payload = _payload(event)
    if not _is_kept(payload):
        return None
    said = payload.model_dump(mode="json")
    kind, _, subject = event.key.partition(":")
    return ServiceEvent(
        event_id=event.id,
        position=event.position,
        type=event.type,
        subject_kind=kind,
        subject=subject,
        actor=said.get("actor") or _person(said.get("by")),
        occurred_at=event.occurred_at,
        revision=event.revision,
        trace=event.trace,
        metadata={name: said[name] for name in METADATA[type(payload)] if said[name] is not None},
    )


def is_person(actor: str) -> bool:
    """Or somebody's program; not a part of Touchline."""
    return actor.startswith(PEOPLE)


def _person(by: str | None) -> str | None:
    """Events of accounts name a user by the id alone."""
    try:
        return by and f"user:{UUID(by)}"
    except ValueError:
        return by


def _is_kept(payload: Payload) -> bool:
    match payload:
        case artifacts.ArtifactLifecycle():
            return payload.progress_percent is None or payload.status != "processing"
        case videos.JobChanged():
            return payload.actor is not None and is_person(payload.actor)
        case _:
            return True


def _payload(event: Event) -> Payload:
    try:
        return PAYLOADS[event.type].model_validate(event.data)
    except ValidationError as error:
        wrong = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)]
        raise InvalidInput(f"{event.type} cannot be read", field=wrong[0], why=f"wrong: {', '.join(wrong)}") from None


# Filters, as people and programs send them.

LONGEST_TEXT = 200
MOST_TYPES = len(SERVICE_EVENT_TYPES)
FIRST_MOMENT, LAST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def checked(wanted: AuditFilter) -> AuditFilter:
    """Refuses what cannot find anything by a mistake: a type that does not exist, a time that no event has."""
    for name in sorted(set(wanted.types) - SERVICE_EVENT_TYPES)[:1]:
        known = ", ".join(sorted(SERVICE_EVENT_TYPES))
        raise InvalidInput(
            f"there is no event type {name[:LONGEST_TEXT]!r}", field="types", why=f"it must be one of {known}"
        )
    if wanted.actor is not None and not (0 < len(wanted.actor) <= LONGEST_TEXT and wanted.actor.isprintable()):
        raise InvalidInput("not a valid actor", field="actor", why="write it like `user:<id>`, `cli` or `retention`")
    since, until = _moment(wanted.since, "since"), _moment(wanted.until, "until")
    if since is not None and until is not None and since >= until:
        raise InvalidInput("not a valid time range", field="until", why="the start must be before the end")
    types = tuple(dict.fromkeys(wanted.types))
    return AuditFilter(wanted.subject_kind, wanted.subject, types, wanted.actor, since, until)


def _moment(given: datetime | None, field: str) -> datetime | None:
    """Without a zone it is UTC."""
    if given is None:
        return None
    moment = given if given.tzinfo else given.replace(tzinfo=UTC)
    if not FIRST_MOMENT <= moment <= LAST_MOMENT:
        raise InvalidInput("not a valid time", field=field, why="it must be between 1970 and 2200")
    return moment.astimezone(UTC)
