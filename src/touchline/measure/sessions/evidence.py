"""Collects the events of one session into its evidence. Pure.

Invariant: commutative and associative. Any order of events, and any split that is merged again, give the same evidence.
"""

from __future__ import annotations

from collections.abc import Iterable

from .model import CLOSED, SWAP, Event, Evidence, Moment, Problem, Sight
from .parser import Accepted, is_sight
from .values import canonical

CONFLICTING = "conflicting_event"
SHARED_KEY = "shared_session_key"

Said = tuple[Moment, str] | None


def winner(copies: Iterable[Accepted]) -> Accepted:
    """Which copy of one uid counts: the one whose canonical JSON sorts first."""
    by_content = {canonical(copy.record): copy for copy in copies}
    first = by_content[min(by_content)]
    if len(by_content) == 1 or first.event is None:
        return first
    return first._replace(event=first.event._replace(conflicting=True))


def gather(events: Iterable[Event]) -> Evidence:
    """Of one session, in any order, each uid once."""
    ordered = iter(sorted(events, key=_moment))
    evidence = _opened(next(ordered))
    for event in ordered:
        _add(evidence, event)
    return evidence


def merge(one: Evidence, other: Evidence) -> Evidence:
    """Of one session, no event in both, and all sights in each: between two equal ones the other may have another."""
    first = one if one.first < other.first else other
    differ = (one.stream_id, one.request_id) != (other.stream_id, other.request_id)
    return Evidence(
        session_id=first.session_id,
        stream_id=first.stream_id,
        request_id=first.request_id,
        events=one.events + other.events,
        first=first.first,
        last=max(one.last, other.last),
        edges={
            name: min(moment for part in (one, other) if (moment := part.edges.get(name)))
            for name in one.edges.keys() | other.edges.keys()
        },
        closed=max((moment for moment in (one.closed, other.closed) if moment), default=None),
        swaps=one.swaps + other.swaps,
        prompt_ts=min((ts for ts in (one.prompt_ts, other.prompt_ts) if ts is not None), default=None),
        sights=sorted(one.sights + other.sights),
        problems=sorted(one.problems + other.problems),
        parameters=sorted(one.parameters + other.parameters, key=lambda update: update.moment),
        gateway=_earlier(one.gateway, other.gateway),
        pipeline=_earlier(one.pipeline, other.pipeline),
        pipeline_id=_earlier(one.pipeline_id, other.pipeline_id),
        workflow_type=_earlier(one.workflow_type, other.workflow_type),
        flags=one.flags | other.flags | ({SHARED_KEY} if differ else set[str]()),
    )


def _moment(event: Event) -> tuple[int, str]:
    return event.ts, event.uid


def _opened(event: Event) -> Evidence:
    moment = Moment(event.ts, event.uid)
    evidence = Evidence(event.session_id, event.stream_id, event.request_id, events=0, first=moment, last=moment)
    _add(evidence, event)
    return evidence


def _add(evidence: Evidence, event: Event) -> None:
    """The next one in order: what is kept as the first is kept, what is kept as the last is replaced."""
    moment = Moment(event.ts, event.uid)
    evidence.events += 1
    evidence.last = moment
    if event.trace_type:
        _add_trace(evidence, moment, event.trace_type)
    if is_sight(event):
        source = event.trace_type or event.type
        evidence.sights.append(Sight(moment, event.address, event.url, (event.pipeline or "").lower(), source))
    if event.error is not None:
        evidence.problems.append(Problem(moment, event.error))
    if event.parameters:
        evidence.parameters.append(event.parameters)
    _add_names(evidence, moment, event)
    _add_flags(evidence, event)


def _add_trace(evidence: Evidence, moment: Moment, trace_type: str) -> None:
    evidence.edges.setdefault(trace_type, moment)
    if trace_type == CLOSED:
        evidence.closed = moment
    elif trace_type == SWAP:
        evidence.swaps += 1


def _add_names(evidence: Evidence, moment: Moment, event: Event) -> None:
    if evidence.gateway is None and event.gateway:
        evidence.gateway = (moment, event.gateway)
    if evidence.pipeline is None and event.pipeline:
        evidence.pipeline = (moment, event.pipeline)
    if evidence.pipeline_id is None and event.pipeline_id:
        evidence.pipeline_id = (moment, event.pipeline_id)
    if evidence.workflow_type is None and event.workflow_type:
        evidence.workflow_type = (moment, event.workflow_type)
    if event.start_time is not None and (evidence.prompt_ts is None or event.start_time < evidence.prompt_ts):
        evidence.prompt_ts = event.start_time


def _add_flags(evidence: Evidence, event: Event) -> None:
    if event.flags:
        evidence.flags = evidence.flags.union(event.flags)
    if event.conflicting:
        evidence.flags = evidence.flags | {CONFLICTING}
    if event.stream_id != evidence.stream_id or event.request_id != evidence.request_id:
        evidence.flags = evidence.flags | {SHARED_KEY}


def _earlier(one: Said, other: Said) -> Said:
    return min((said for said in (one, other) if said), default=None)
