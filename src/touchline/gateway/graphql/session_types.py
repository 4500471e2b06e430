"""Answers about many sessions as GraphQL shows them: outcomes, latencies, groups, what came in.

Counts that may pass what GraphQL's Int holds, and milliseconds, are Float; all but percentiles are whole numbers.
"""

from __future__ import annotations

from datetime import datetime

import strawberry

from .session_enums import Metric, Progress


@strawberry.input(
    description="Which sessions. Those that start at `from` or later and before `to`; without `to` until now, without "
    "`from` the last days before it, as many as the settings say. An empty text: those of which it is not known."
)
class SessionFilter:
    since: datetime | None = strawberry.field(default=None, name="from")
    until: datetime | None = strawberry.field(default=None, name="to")
    workflow_type: str | None = None
    gateway: str | None = None
    orchestrator: str | None = strawberry.field(default=None, description="The canonical address.")
    model: str | None = None
    gpu: str | None = None
    outcome: Progress | None = None
    swapped: bool | None = None
    failed: bool | None = strawberry.field(default=None, description="Did not start, and no excuse is known.")
    search: str | None = strawberry.field(
        default=None, description="A part of an id, an orchestrator, a gateway or a pipeline, in any case."
    )
    metric: Metric | None = strawberry.field(default=None, description="Those that have it, within the two bounds.")
    at_least_ms: float | None = None
    below_ms: float | None = None


@strawberry.type(description="When the first and the last session start, whatever the range.")
class SessionSpan:
    first: datetime
    last: datetime


@strawberry.type(description="In milliseconds; of more than 100 values to within half a percent. Null without any.")
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
        description="The denominator of all rates: those that a gateway was asked for, without running and cancelled."
    )
    success: float
    excused: float
    unexcused: float
    running: float = strawberry.field(description="Not final, and nothing has decided how they began.")
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


@strawberry.type(description="Bars grow wider with the value, so that few show both the usual and the slowest.")
class SessionDistribution:
    metric: Metric
    percentiles: Percentiles
    bars: list[SessionBar]


@strawberry.type
class SessionGroup:
    key: str | None = strawberry.field(description="Null: not known.")
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


@strawberry.type(description="What was delivered, and what became of it: `raw` is the sum of the other four.")
class IngestQuality:
    raw: float
    accepted: float
    duplicate: float
    ignored: float
    quarantined: float
    reasons: list[IngestReason] = strawberry.field(description="Why events were set aside, the most frequent first.")
    series: list[IngestBucket]


@strawberry.type(description="An event that could not be read. It is kept, and can be replayed.")
class QuarantinedEvent:
    id: strawberry.ID
    reason: str
    detail: str
    received_at: datetime
    body: str = strawberry.field(description="Its beginning, as it was delivered.")
