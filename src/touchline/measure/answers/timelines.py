"""One session's delivered events and samples as a timeline. Pure.

Invariant: what is drawn is what the fold counts: of the copies of one event, the same one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from touchline.measure.sessions.edges import trace_category
from touchline.measure.sessions.evidence import winner
from touchline.measure.sessions.model import Event, Moment, Problem
from touchline.measure.sessions.parser import Accepted, read_text
from touchline.measure.sessions.rules import Rules, excuses

from .model import Timeline, TimelineEdge, TimelineError, TimelineSample

LONGEST_MESSAGE = 2_000


def timeline(rows: Sequence[Mapping[str, Any]], rules: Rules) -> Timeline:
    """Rows with a body are events, the others samples; each says how many of its kind there are."""
    bodies, samples = [row for row in rows if row["body"]], [row for row in rows if not row["body"]]
    events = sorted(_counted(bodies), key=lambda event: (event.ts, event.uid))
    return Timeline(
        edges=[
            TimelineEdge(one.ts, one.trace_type, trace_category(one.trace_type)) for one in events if one.trace_type
        ],
        errors=[_error(event, rules) for event in events if event.error is not None],
        samples=[TimelineSample(row["ts"], row["output_fps"], row["input_fps"], row["jitter_ms"]) for row in samples],
        truncated=any(len(part) < max((row["total"] for row in part), default=0) for part in (bodies, samples)),
    )


def _counted(rows: Iterable[Mapping[str, Any]]) -> Iterable[Event]:
    """Each event once."""
    readings = (read_text(row["body"].encode()) for row in rows)
    accepted = sorted((one for one in readings if isinstance(one, Accepted)), key=lambda one: one.uid)
    for _, copies in groupby(accepted, key=lambda one: one.uid):
        if event := winner(copies).event:
            yield event


def _error(event: Event, rules: Rules) -> TimelineError:
    message = event.error or ""
    [patterns] = excuses([Problem(Moment(event.ts, event.uid), message)], rules)
    return TimelineError(event.ts, message[:LONGEST_MESSAGE], bool(patterns))
