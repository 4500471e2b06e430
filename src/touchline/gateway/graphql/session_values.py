"""From what `measure` answers about many sessions to what GraphQL shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import strawberry
from strawberry.types.nodes import Selection
from strawberry.utils.str_converters import to_camel_case

from touchline.measure.analytics import rules
from touchline.measure.analytics.rules import Metric

from .selections import asks_for
from .session_detail import moment
from .session_types import (
    IngestBucket,
    IngestQuality,
    IngestReason,
    Percentiles,
    QuarantinedEvent,
    SessionBar,
    SessionBucket,
    SessionDistribution,
    SessionFilter,
    SessionGroup,
    SessionSummary,
)

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
