"""From a session's evidence to its rows. Pure: the same evidence, snapshots and settings give the same rows.

Invariant: total. Nothing that the parser accepts makes it fail, no latency is ever negative, and no row depends on the
order in which events came. Where several rules apply, the first one decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from . import model
from .orchestrators import Attribution, CanonicalField, Directory, Identity, Segment, attribute, cut, segment_at

if TYPE_CHECKING:  # a process that only applies the rules need not load pydantic
    from touchline.measure.settings import SessionSettings

__all__ = ["Directory", "Outcome", "Rules", "conclude"]


# Decisions: latencies, startup outcome, and when a session is final.


class Outcome(StrEnum):
    SUCCESS = "success"
    EXCUSED = "excused"
    UNEXCUSED = "unexcused"
    NOT_IN_DENOMINATOR = "not_in_denominator"


@dataclass(frozen=True, slots=True)
class Rules:
    excusable: tuple[str, ...]  # lower-cased
    canonical_field: CanonicalField
    window_ms: int
    final_after_close_ms: int
    final_after_silence_ms: int

    @classmethod
    def of(cls, settings: SessionSettings) -> Rules:
        patterns = {pattern.lower() for pattern in settings.excusable_errors if pattern.strip()}  # a blank one fits all
        return cls(
            excusable=tuple(sorted(patterns)),
            canonical_field=settings.canonical_field,
            window_ms=settings.attribution_window // timedelta(milliseconds=1),
            final_after_close_ms=settings.final_after_close // timedelta(milliseconds=1),
            final_after_silence_ms=settings.final_after_silence // timedelta(milliseconds=1),
        )


class Latencies(NamedTuple):
    """None where an edge is missing, or where the clocks contradict each other; then a flag says which."""

    startup_ms: int | None
    e2e_proxy_ms: int | None
    prompt_to_playable_ms: int | None
    gateway_runner_lag_ms: int | None
    flags: frozenset[str]


def latencies(evidence: model.Evidence) -> Latencies:
    times = {name: moment.ts for name, moment in evidence.edges.items()}
    startup = _between(times.get(model.STREAM_REQUEST), times.get(model.FIRST_PROCESSED))
    e2e = _between(times.get(model.FIRST_INGEST), times.get(model.RUNNER_FIRST_PROCESSED))
    playable = _between(evidence.prompt_ts, times.get(model.PLAYABLE))
    lag = _between(_forward(e2e), _forward(startup))
    found = {"startup": startup, "e2e": e2e, "prompt_to_playable": playable, "gateway_runner_lag": lag}
    negative = frozenset(f"negative_{name}" for name, length in found.items() if length is not None and length < 0)
    return Latencies(_forward(startup), _forward(e2e), _forward(playable), _forward(lag), negative)


def excuses(problems: Iterable[model.Problem], rules: Rules) -> list[set[str]]:
    """Of each error, the patterns that excuse it. A blank message has none."""
    messages = (problem.message.lower() for problem in problems)
    return [{pattern for pattern in rules.excusable if pattern in message} for message in messages]


def outcome(evidence: model.Evidence, excused: list[set[str]]) -> Outcome:
    """In the order of the rules: the first that holds decides."""
    if model.STREAM_REQUEST not in evidence.edges:
        return Outcome.NOT_IN_DENOMINATOR
    if model.PLAYABLE in evidence.edges:
        return Outcome.SUCCESS
    if model.NO_ORCHESTRATORS in evidence.edges or (excused and all(excused)):
        return Outcome.EXCUSED
    return Outcome.UNEXCUSED


def final_from(evidence: model.Evidence, rules: Rules) -> int:
    """From which event time on nothing more is expected of a session."""
    if evidence.closed:
        return evidence.closed.ts + rules.final_after_close_ms
    return evidence.last.ts + rules.final_after_silence_ms


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _forward(length: int | None) -> int | None:
    return length if length is not None and length >= 0 else None


# Rows.

LIVE = "ai_live_video_stream"
AMBIGUOUS = "ambiguous_orchestrator"
PARAMETERS_MISSING = "parameters_missing"


class _Session(NamedTuple):
    """What all rows of one session are made from."""

    evidence: model.Evidence
    segments: list[Segment]
    attributions: list[Attribution]
    version: int
    ambiguous: bool


def conclude(evidence: model.Evidence, directory: Directory, rules: Rules, greatest_ts: int) -> model.SessionFacts:
    """`greatest_ts` is the greatest event time seen of anything: by it a session is over."""
    addresses = frozenset({sight.address for sight in evidence.sights} - {""})
    urls = frozenset({sight.url for sight in evidence.sights if not sight.address})
    final_from_ts = final_from(evidence, rules)
    session = _session(evidence, directory, rules, evidence.events + directory.snapshots(addresses, urls))
    return model.SessionFacts(
        session=_session_row(session, rules, is_final=greatest_ts >= final_from_ts),
        segments=tuple(_segment_row(session, segment) for segment in session.segments),
        parameters=tuple(_parameter_row(session, at, update) for at, update in enumerate(evidence.parameters)),
        observed_addresses=tuple(sorted(addresses | urls)),
        final_from_ts=final_from_ts,
    )


def _session(evidence: model.Evidence, directory: Directory, rules: Rules, version: int) -> _Session:
    ambiguous = False

    def identify(sight: model.Sight) -> Identity:
        nonlocal ambiguous
        identity = directory.identify(sight.address, sight.url, rules.canonical_field)
        ambiguous = ambiguous or identity.ambiguous
        return identity

    segments = cut(evidence, identify)
    pipeline = evidence.pipeline[1].lower() if evidence.pipeline else ""
    attributions = [
        attribute(segment.identity, segment.pipeline or pipeline, segment.start_ts, rules.window_ms)
        for segment in segments
    ]
    return _Session(evidence, segments, attributions, version, ambiguous)


def _session_row(session: _Session, rules: Rules, *, is_final: bool) -> model.SessionRow:
    evidence, served, attribution = session.evidence, session.segments[-1], session.attributions[-1]
    lengths, excused = latencies(evidence), excuses(evidence.problems, rules)
    result = outcome(evidence, excused)
    orchestrators = len({segment.identity.address for segment in session.segments} - {""})
    return model.SessionRow(
        workflow_session_id=evidence.session_id,
        stream_id=evidence.stream_id,
        request_id=evidence.request_id,
        workflow_type=_said(evidence.workflow_type) or LIVE,
        workflow_id=_said(evidence.pipeline),
        pipeline_id=_said(evidence.pipeline_id),
        session_start_ts=evidence.first.ts,
        session_end_ts=evidence.last.ts,
        first_stream_request_ts=_edge(evidence, model.STREAM_REQUEST),
        first_ingest_ts=_edge(evidence, model.FIRST_INGEST),
        runner_first_processed_ts=_edge(evidence, model.RUNNER_FIRST_PROCESSED),
        first_processed_ts=_edge(evidence, model.FIRST_PROCESSED),
        first_playable_ts=_edge(evidence, model.PLAYABLE),
        prompt_start_ts=evidence.prompt_ts,
        closed_ts=evidence.closed.ts if evidence.closed else None,
        startup_ms=lengths.startup_ms,
        e2e_proxy_ms=lengths.e2e_proxy_ms,
        prompt_to_playable_ms=lengths.prompt_to_playable_ms,
        gateway_runner_lag_ms=lengths.gateway_runner_lag_ms,
        known_stream=int(result is not Outcome.NOT_IN_DENOMINATOR),
        startup_success=int(result is Outcome.SUCCESS),
        startup_excused=int(result is Outcome.EXCUSED),
        startup_unexcused=int(result is Outcome.UNEXCUSED),
        startup_outcome=result.value,
        swap_count=max(evidence.swaps, orchestrators - 1),
        explicit_swap_count=evidence.swaps,
        orchestrator_count=orchestrators,
        error_count=len(evidence.problems),
        excusable_error_count=sum(map(bool, excused)),
        excusable_patterns=tuple(sorted(set[str]().union(*excused))),
        orchestrator_address=served.identity.address or None,
        observed_orchestrator_address=served.observed_address or None,
        orchestrator_url=served.url or None,
        gateway=_said(evidence.gateway),
        model_id=attribution.model_id,
        gpu_id=attribution.gpu_id,
        gpu_attribution_method=attribution.method.value,
        gpu_attribution_confidence=attribution.confidence,
        source_first_event_uid=evidence.first.uid,
        source_last_event_uid=evidence.last.uid,
        version=session.version,
        is_final=int(is_final),
        semantics_version=model.SEMANTICS_VERSION,
        quality_flags=_flags(session, lengths),
    )


def _segment_row(session: _Session, segment: Segment) -> model.SegmentRow:
    attribution = session.attributions[segment.index]
    return model.SegmentRow(
        workflow_session_id=session.evidence.session_id,
        segment_index=segment.index,
        segment_start_ts=segment.start_ts,
        segment_end_ts=segment.end_ts,
        gateway=_said(session.evidence.gateway),
        orchestrator_address=segment.identity.address or None,
        observed_orchestrator_address=segment.observed_address or None,
        orchestrator_url=segment.url or None,
        worker_id=None,
        region=None,
        model_id=attribution.model_id,
        gpu_id=attribution.gpu_id,
        gpu_attribution_method=attribution.method.value,
        gpu_attribution_confidence=attribution.confidence,
        reason=segment.reason.value,
        source_trace_type=segment.source_type,
        source_event_uid=segment.source.uid,
        version=session.version,
        semantics_version=model.SEMANTICS_VERSION,
        quality_flags=(AMBIGUOUS,) if segment.identity.ambiguous else (),
    )


def _parameter_row(session: _Session, index: int, update: model.Parameters) -> model.ParameterRow:
    return model.ParameterRow(
        workflow_session_id=session.evidence.session_id,
        update_index=index,
        update_ts=update.moment.ts,
        segment_index=segment_at(session.segments, update.moment.ts),
        event_type=update.event_type,
        params_hash=update.digest,
        params=update.document,
        source_event_uid=update.moment.uid,
        version=session.version,
        semantics_version=model.SEMANTICS_VERSION,
        quality_flags=() if update.document else (PARAMETERS_MISSING,),
    )


def _flags(session: _Session, lengths: Latencies) -> tuple[str, ...]:
    found = session.evidence.flags | lengths.flags
    return tuple(sorted(found | {AMBIGUOUS} if session.ambiguous else found))


def _said(said: tuple[model.Moment, str] | None) -> str | None:
    return said[1] if said else None


def _edge(evidence: model.Evidence, name: str) -> int | None:
    moment = evidence.edges.get(name)
    return moment.ts if moment else None
