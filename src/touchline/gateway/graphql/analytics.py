"""Analytics of many sessions: outcomes, latencies, groups, and the quality of what was ingested.

Counts that may exceed GraphQL's Int, and milliseconds, are Float; all but percentiles are whole numbers.
Invariant: everything is read inside the caller's tenant; another tenant's session is one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import strawberry
from strawberry.types.nodes import Selection
from strawberry.utils.str_converters import to_camel_case

from touchline.kernel import InvalidInput, Scope
from touchline.measure.analytics import rules
from touchline.measure.analytics.service import SessionAnalytics

from .context import Info, asks_for
from .pages import Connection, PageInput, PageRows, connection, window
from .sessions import Dimension, Leaders, Metric, Order, Progress, WorkflowSession, moment, session_of


@strawberry.input(
    description="Which sessions. Those that start at `from` or later and before `to`; without `to` until now, without "
    "`from` the last days before it, as many as the settings say. An empty "
    "string selects sessions where the value is unknown."
)
class SessionFilter:
    since: datetime | None = strawberry.field(default=None, name="from")
    until: datetime | None = strawberry.field(default=None, name="to")
    workflow_type: str | None = None
    gateway: str | None = None
    orchestrator: str | None = strawberry.field(default=None, description="The canonical address of the orchestrator.")
    model: str | None = None
    gpu: str | None = None
    outcome: Progress | None = None
    swapped: bool | None = None
    failed: bool | None = strawberry.field(
        default=None, description="Sessions that did not start, without a known excuse."
    )
    search: str | None = strawberry.field(
        default=None, description="Part of an id, orchestrator, gateway or pipeline; upper and lower case are the same."
    )
    metric: Metric | None = strawberry.field(
        default=None, description="Sessions that have this value, within the bounds."
    )
    at_least_ms: float | None = None
    below_ms: float | None = None


@strawberry.type(description="When the first and the last session started, regardless of the range.")
class SessionSpan:
    first: datetime
    last: datetime


@strawberry.type(
    description="In milliseconds. With more than 100 values they are approximate, within 0.5 %. Null without values."
)
class Percentiles:
    count: float
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None


@strawberry.type
class SessionSummary:
    sessions: float
    known: float = strawberry.field(
        description="The denominator of all rates: sessions that were requested from a "
        "gateway, without running and cancelled ones."
    )
    success: float
    excused: float
    unexcused: float
    running: float = strawberry.field(description="Not final yet, and without an outcome.")
    cancelled: float = strawberry.field(description="Stopped by a person, and not final yet.")
    swapped: float = strawberry.field(description="Sessions with at least one swap.")
    errors: float = strawberry.field(description="Errors, not sessions.")
    startup: Percentiles
    e2e: Percentiles
    prompt_to_playable: Percentiles
    gateway_runner_lag: Percentiles


@strawberry.type
class SessionBucket:
    start: datetime
    seconds: int
    sessions: float
    success: float
    excused: float
    unexcused: float
    running: float
    cancelled: float
    not_in_denominator: float
    swapped: float
    startup_p50: float | None
    startup_p95: float | None


@strawberry.type
class SessionBar:
    from_ms: float
    to_ms: float = strawberry.field(description="Not included.")
    count: float


@strawberry.type(description="Bars get wider as values grow, so that a few show both typical and slow values.")
class SessionDistribution:
    metric: Metric
    percentiles: Percentiles
    bars: list[SessionBar]


@strawberry.type
class SessionGroup:
    key: str | None = strawberry.field(description="Null: unknown.")
    sessions: float
    known: float
    success: float
    excused: float
    unexcused: float
    running: float
    cancelled: float
    swapped: float
    errors: float = strawberry.field(description="Errors, not sessions.")
    startup: Percentiles
    e2e: Percentiles
    prompt_to_playable: Percentiles
    gateway_runner_lag: Percentiles


@strawberry.type
class IngestReason:
    reason: str
    count: float


@strawberry.type
class IngestBucket:
    start: datetime
    seconds: int
    raw: float
    accepted: float
    duplicate: float
    ignored: float
    quarantined: float


@strawberry.type(description="What was delivered, and how it was classified: `raw` is the sum of the other four.")
class IngestQuality:
    raw: float
    accepted: float
    duplicate: float
    ignored: float
    quarantined: float
    reasons: list[IngestReason] = strawberry.field(description="Why events were quarantined, most frequent first.")
    series: list[IngestBucket]


@strawberry.type(description="An event that could not be read. It is kept in quarantine, and can be replayed.")
class QuarantinedEvent:
    id: strawberry.ID
    reason: str
    detail: str
    received_at: datetime
    body: str = strawberry.field(description="The beginning of the event, as it was delivered.")


# --- From the answers of `measure` to the types of the schema.

METRICS = {
    Metric.STARTUP: "startup",
    Metric.E2E: "e2e",
    Metric.PROMPT_TO_PLAYABLE: "prompt_to_playable",
    Metric.GATEWAY_RUNNER_LAG: "gateway_runner_lag",
}
NOT_ASKED_FOR = rules.Percentiles(0, None, None, None, None)  # nobody sees it


def metrics_of(selections: Iterable[Selection]) -> list[Metric]:
    """Those that somebody asks for."""
    asked = list(selections)
    return [metric for metric, name in METRICS.items() if asks_for({to_camel_case(name)}, asked)]


def filter_of(given: SessionFilter | None) -> rules.Filter:
    return rules.Filter(**vars(given)) if given else rules.Filter()


def summary_of(found: rules.SessionSummary) -> SessionSummary:
    return SessionSummary(**asdict(found.tally), **_metrics(found.metrics))


def group_of(found: rules.SessionGroup) -> SessionGroup:
    return SessionGroup(key=found.key, **asdict(found.tally), **_metrics(found.metrics))


def bucket_of(found: rules.Bucket, seconds: int) -> SessionBucket:
    tally = found.tally
    return SessionBucket(
        start=moment(found.start_ms),
        seconds=seconds,
        sessions=tally.sessions,
        success=tally.success,
        excused=tally.excused,
        unexcused=tally.unexcused,
        running=tally.running,
        cancelled=tally.cancelled,
        not_in_denominator=tally.sessions - tally.known - tally.running - tally.cancelled,
        swapped=tally.swapped,
        startup_p50=found.startup_p50,
        startup_p95=found.startup_p95,
    )


def distribution_of(found: rules.Distribution) -> SessionDistribution:
    return SessionDistribution(
        metric=found.metric,
        percentiles=Percentiles(**asdict(found.percentiles)),
        bars=[SessionBar(**asdict(bar)) for bar in found.bars],
    )


def quality_of(found: rules.Quality) -> IngestQuality:
    return IngestQuality(
        **asdict(found.counters),
        reasons=[IngestReason(reason=reason, count=count) for reason, count in found.reasons],
        series=[
            IngestBucket(start=moment(bucket.start_ms), seconds=found.seconds, **asdict(bucket.counters))
            for bucket in found.series
        ],
    )


def quarantined_of(found: rules.QuarantinedEvent) -> QuarantinedEvent:
    place = found.place
    return QuarantinedEvent(
        id=strawberry.ID(f"{place.digest}-{place.ordinal}"),
        reason=found.reason,
        detail=found.detail,
        received_at=moment(place.received_ms),
        body=found.body,
    )


def _metrics(found: dict[Metric, rules.Percentiles]) -> dict[str, Any]:
    return {name: Percentiles(**asdict(found.get(metric, NOT_ASKED_FOR))) for metric, name in METRICS.items()}


# --- Queries.

GROUPS = 20
PARTS = frozenset({"segments", "parameterUpdates"})


@strawberry.type
class SessionQueries:
    @strawberry.field(description="Null while there is no session.")
    async def session_span(self, info: Info) -> SessionSpan | None:
        found = await _analytics(info).span(info.context.principal.tenant_id)
        return SessionSpan(first=moment(found.since_ms), last=moment(found.until_ms)) if found else None

    @strawberry.field(description="Outcomes and latencies of all selected sessions together.")
    async def session_summary(
        self,
        info: Info,
        filter: SessionFilter | None = None,  # noqa: A002  its name in the schema
    ) -> SessionSummary:
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        return summary_of(await analytics.summary(tenant, filter_of(filter), metrics_of(info.selected_fields)))

    @strawberry.field(description="The same over time, for every bucket of the range; at most 1,000 buckets.")
    async def session_series(
        self,
        info: Info,
        filter: SessionFilter | None = None,  # noqa: A002
        bucket_seconds: int | None = None,
    ) -> list[SessionBucket]:
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        found = await analytics.series(tenant, filter_of(filter), bucket_seconds)
        return [bucket_of(bucket, found.seconds) for bucket in found.buckets]

    @strawberry.field(description="The distribution of one latency.")
    async def session_distribution(
        self,
        info: Info,
        metric: Metric,
        filter: SessionFilter | None = None,  # noqa: A002
    ) -> SessionDistribution:
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        return distribution_of(await analytics.distribution(tenant, filter_of(filter), metric))

    @strawberry.field(
        description="Sessions grouped by one property, largest groups first; hours in "
        "order of the clock. At most 200 groups."
    )
    async def session_breakdown(
        self,
        info: Info,
        by: Dimension,
        filter: SessionFilter | None = None,  # noqa: A002
        first: int = GROUPS,
    ) -> list[SessionGroup]:
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        metrics = metrics_of(info.selected_fields)
        return [group_of(group) for group in await analytics.breakdown(tenant, filter_of(filter), by, first, metrics)]

    @strawberry.field(
        description="The groups with the most swaps, the most unexcused failures, or the highest 95th "
        "percentile of startup time. Groups with none are left out."
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
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        board = rules.Board(kind, by, first, at_least, metrics_of(info.selected_fields))
        return [group_of(group) for group in await analytics.leaders(tenant, filter_of(filter), board)]

    @strawberry.field(description="`totalCount` counts up to 10,000.")
    async def workflow_sessions_connection(
        self,
        info: Info,
        page: PageInput | None = None,
        filter: SessionFilter | None = None,  # noqa: A002
        order_by: Order = Order.LATEST,
    ) -> Connection[WorkflowSession]:
        analytics, context = _analytics(info), info.context
        cursor = context.cursor(f"sessions {order_by}")
        asked = window(page, cursor)
        places = {"after": _place(asked.after), "before": _place(asked.before)}
        parts = asks_for(PARTS, info.selected_fields)
        wanted = rules.SessionWindow(asked.size, from_the_end=asked.from_the_end, with_parts=parts, **places)
        found = await analytics.page(context.principal.tenant_id, filter_of(filter), order_by, wanted)
        nodes = [session_of(session) for session in found.sessions]
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = PageRows(found.sessions, has_next, has_previous, found.total_count)
        return connection(rows, nodes, lambda session: session.place.to_bytes(), cursor)

    @strawberry.field
    async def workflow_session(self, info: Info, id: strawberry.ID) -> WorkflowSession | None:  # noqa: A002
        found = await _analytics(info).session(info.context.principal.tenant_id, id)
        return session_of(found) if found else None

    @strawberry.field(description="What was delivered in a period, by time of arrival. Default: the last days.")
    async def ingest_quality(
        self,
        info: Info,
        since: Annotated[datetime | None, strawberry.argument(name="from")] = None,
        until: Annotated[datetime | None, strawberry.argument(name="to")] = None,
    ) -> IngestQuality:
        analytics, tenant = _analytics(info), info.context.principal.tenant_id
        return quality_of(await analytics.quality(tenant, rules.Filter(since=since, until=until)))

    @strawberry.field(description="Newest first, forwards only. `totalCount` counts up to 10,000.")
    async def quarantined_events_connection(
        self, info: Info, page: PageInput | None = None, reason: str | None = None
    ) -> Connection[QuarantinedEvent]:
        analytics, context = _analytics(info), info.context
        cursor = context.cursor("quarantined events")
        asked = window(page, cursor)
        if asked.from_the_end or asked.before is not None:
            raise InvalidInput(
                "invalid page arguments", field="page", why="this list supports `first` and `after` only"
            )
        after = rules.QuarantinePlace.from_bytes(asked.after) if asked.after else None
        found = await analytics.quarantined(
            context.principal.tenant_id, rules.QuarantineWindow(asked.size, after, reason)
        )
        nodes = [quarantined_of(event) for event in found.events]
        rows = PageRows(found.events, found.more, after is not None, found.total_count)
        return connection(rows, nodes, lambda event: event.place.to_bytes(), cursor)


def _analytics(info: Info) -> SessionAnalytics:
    info.context.principal.require(Scope.READ)
    return info.context.composition.sources.sessions


def _place(place: bytes | None) -> rules.PagePlace | None:
    return None if place is None else rules.PagePlace.from_bytes(place)
