"""What people ask about sessions: how they began, how fast, where and why not; and what came in.

Invariant: everything is read inside the caller's tenant; another tenant's session is one that does not exist.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import strawberry

from touchline.kernel import Scope
from touchline.kernel.errors import InvalidInput
from touchline.measure.analytics import rules
from touchline.measure.analytics.service import SessionAnalytics

from .context import Info
from .pages import Connection, PageInput, Rows, connection, window
from .selections import asks_for
from .session_detail import WorkflowSession, moment, session_of
from .session_enums import Dimension, Leaders, Metric, Order
from .session_types import (
    IngestQuality,
    QuarantinedEvent,
    SessionBucket,
    SessionDistribution,
    SessionFilter,
    SessionGroup,
    SessionSpan,
    SessionSummary,
)
from .session_values import (
    bucket_of,
    distribution_of,
    filter_of,
    group_of,
    metrics_of,
    quality_of,
    quarantined_of,
    summary_of,
)

GROUPS = 20
PARTS = frozenset({"segments", "parameterUpdates"})


@strawberry.type
class SessionQueries:
    @strawberry.field(description="Null while there is no session.")
    async def session_span(self, info: Info) -> SessionSpan | None:
        found = await _answers(info).span(info.context.principal.tenant_id)
        return SessionSpan(first=moment(found.since_ms), last=moment(found.until_ms)) if found else None

    @strawberry.field(description="How sessions began and how fast, all together.")
    async def session_summary(
        self,
        info: Info,
        filter: SessionFilter | None = None,  # noqa: A002  its name in the schema
    ) -> SessionSummary:
        answers, tenant = _answers(info), info.context.principal.tenant_id
        return summary_of(await answers.summary(tenant, filter_of(filter), metrics_of(info.selected_fields)))

    @strawberry.field(description="The same over time, every bucket of the range; at most 1,000.")
    async def session_series(
        self,
        info: Info,
        filter: SessionFilter | None = None,  # noqa: A002
        bucket_seconds: int | None = None,
    ) -> list[SessionBucket]:
        answers, tenant = _answers(info), info.context.principal.tenant_id
        found = await answers.series(tenant, filter_of(filter), bucket_seconds)
        return [bucket_of(bucket, found.seconds) for bucket in found.buckets]

    @strawberry.field(description="How one latency is spread.")
    async def session_distribution(
        self,
        info: Info,
        metric: Metric,
        filter: SessionFilter | None = None,  # noqa: A002
    ) -> SessionDistribution:
        answers, tenant = _answers(info), info.context.principal.tenant_id
        return distribution_of(await answers.distribution(tenant, filter_of(filter), metric))

    @strawberry.field(description="By one property, the largest groups first; hours by the clock. At most 200.")
    async def session_breakdown(
        self,
        info: Info,
        by: Dimension,
        filter: SessionFilter | None = None,  # noqa: A002
        first: int = GROUPS,
    ) -> list[SessionGroup]:
        answers, tenant = _answers(info), info.context.principal.tenant_id
        metrics = metrics_of(info.selected_fields)
        return [group_of(group) for group in await answers.breakdown(tenant, filter_of(filter), by, first, metrics)]

    @strawberry.field(
        description="Where most sessions swapped, where most failed without an excuse, or where the 95th percentile of "
        "startup is highest. Groups without any of it are left out."
    )
    async def session_leaders(
        self,
        info: Info,
        kind: Leaders,
        filter: SessionFilter | None = None,  # noqa: A002
        by: Dimension = Dimension.ORCHESTRATOR,
        first: int = GROUPS,
        at_least: int = 1,
    ) -> list[SessionGroup]:
        """`at_least` sessions make a group worth comparing."""
        answers, tenant = _answers(info), info.context.principal.tenant_id
        board = rules.Board(kind, by, first, at_least, metrics_of(info.selected_fields))
        return [group_of(group) for group in await answers.leaders(tenant, filter_of(filter), board)]

    @strawberry.field(description="`totalCount` ends at 10,000.")
    async def workflow_sessions_connection(
        self,
        info: Info,
        page: PageInput | None = None,
        filter: SessionFilter | None = None,  # noqa: A002
        order_by: Order = Order.LATEST,
    ) -> Connection[WorkflowSession]:
        answers, context = _answers(info), info.context
        cursor = context.cursor(f"sessions {order_by}")
        asked = window(page, cursor)
        places = {"after": _place(asked.after), "before": _place(asked.before)}
        parts = asks_for(PARTS, info.selected_fields)
        wanted = rules.SessionWindow(asked.size, from_the_end=asked.from_the_end, with_parts=parts, **places)
        found = await answers.page(context.principal.tenant_id, filter_of(filter), order_by, wanted)
        nodes = [session_of(session) for session in found.sessions]
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = Rows(found.sessions, has_next, has_previous, found.total_count)
        return connection(rows, nodes, lambda session: session.place.to_bytes(), cursor)

    @strawberry.field
    async def workflow_session(self, info: Info, id: strawberry.ID) -> WorkflowSession | None:  # noqa: A002
        found = await _answers(info).session(info.context.principal.tenant_id, id)
        return session_of(found) if found else None

    @strawberry.field(description="What was delivered in a time, by when it came; without one, in the last days.")
    async def ingest_quality(
        self,
        info: Info,
        since: Annotated[datetime | None, strawberry.argument(name="from")] = None,
        until: Annotated[datetime | None, strawberry.argument(name="to")] = None,
    ) -> IngestQuality:
        answers, tenant = _answers(info), info.context.principal.tenant_id
        return quality_of(await answers.quality(tenant, rules.Filter(since=since, until=until)))

    @strawberry.field(description="Newest first, forwards only. `totalCount` ends at 10,000.")
    async def quarantined_events_connection(
        self, info: Info, page: PageInput | None = None, reason: str | None = None
    ) -> Connection[QuarantinedEvent]:
        answers, context = _answers(info), info.context
        cursor = context.cursor("quarantined events")
        asked = window(page, cursor)
        if asked.from_the_end or asked.before is not None:
            raise InvalidInput("not a page", field="page", why="this list goes forwards only")
        after = rules.QuarantinePlace.from_bytes(asked.after) if asked.after else None
        found = await answers.quarantined(
            context.principal.tenant_id, rules.QuarantineWindow(asked.size, after, reason)
        )
        nodes = [quarantined_of(event) for event in found.events]
        rows = Rows(found.events, found.more, after is not None, found.total_count)
        return connection(rows, nodes, lambda event: event.place.to_bytes(), cursor)


def _answers(info: Info) -> SessionAnalytics:
    info.context.principal.require(Scope.READ)
    return info.context.parts.sources.sessions


def _place(place: bytes | None) -> rules.PagePlace | None:
    return None if place is None else rules.PagePlace.from_bytes(place)
