"""The audit in GraphQL: who did what, newest first.

Invariant: everybody of the tenant may ask what happened to one artifact; the rest is for its administrators.
"""

from __future__ import annotations

from datetime import datetime

import strawberry
from strawberry.scalars import JSON

from touchline.kernel import parse_artifact_hash
from touchline.measure.audit import rules

from .context import Info, asks_for
from .pages import Connection, PageInput, PageRows, connection, window

COUNTED = frozenset({"totalCount"})


@strawberry.type(description="An administrative action, or a new state of an artifact. Kept forever; metadata only.")
class ServiceEvent:
    id: strawberry.ID
    type: str = strawberry.field(description="The event type, like artifact.lifecycle or user.role_changed.")
    subject_kind: str = strawberry.field(description="artifact, job, user, token, session or tenant.")
    subject: str = strawberry.field(description="Its id.")
    actor: str | None = strawberry.field(
        description="`user:<id>`, `token:<id of its user>`, `cli` or a part of Touchline; null is an event that does "
        "not say who."
    )
    occurred_at: datetime
    revision: int
    trace: str | None = strawberry.field(description="The request that caused it.")
    metadata: JSON

    @strawberry.field(description="The name of the user. Null if the actor is not a user of this tenant.")
    async def actor_name(self, info: Info) -> str | None:
        return None if self.actor is None else await info.context.loaders.actor_names.load(self.actor)


@strawberry.input
class ServiceEventFilter:
    artifact_hash: str | None = None
    types: list[str] | None = None
    actor: str | None = None
    since: datetime | None = None
    until: datetime | None = strawberry.field(default=None, description="Exclusive.")


@strawberry.type
class AuditQueries:
    @strawberry.field(
        description="Newest first. Of one artifact for everybody; of the whole tenant for its administrators."
    )
    async def service_events_connection(
        self,
        info: Info,
        page: PageInput | None = None,
        filter: ServiceEventFilter | None = None,  # noqa: A002  its name in the schema
    ) -> Connection[ServiceEvent]:
        context, wanted = info.context, _wanted(filter or ServiceEventFilter())
        cursor = context.cursor(f"service events {wanted.subject or ''}")
        asked = window(page, cursor)
        places = {"after": _position(asked.after), "before": _position(asked.before)}
        audit = context.composition.sources.audit
        found = await audit.page(
            context.principal, wanted, rules.AuditWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        counted = asks_for(COUNTED, info.selected_fields)
        total = await audit.count(context.principal, wanted) if counted else 0
        rows = PageRows(found.events, found.has_next, found.has_previous, total)
        return connection(rows, [_shown(event) for event in found.events], _place, cursor)


def _wanted(given: ServiceEventFilter) -> rules.AuditFilter:
    about = None if given.artifact_hash is None else parse_artifact_hash(given.artifact_hash)
    kind = None if about is None else rules.ARTIFACT
    return rules.AuditFilter(kind, about, tuple(given.types or ()), given.actor, given.since, given.until)


def _place(event: rules.ServiceEvent) -> bytes:
    return event.position.to_bytes(8)


def _position(place: bytes | None) -> int | None:
    return None if place is None else int.from_bytes(place)


def _shown(event: rules.ServiceEvent) -> ServiceEvent:
    return ServiceEvent(
        id=strawberry.ID(str(event.event_id)),
        type=event.type,
        subject_kind=event.subject_kind,
        subject=event.subject,
        actor=event.actor,
        occurred_at=event.occurred_at,
        revision=event.revision,
        trace=event.trace,
        metadata=JSON(dict(event.metadata)),
    )
