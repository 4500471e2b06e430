"""What a session's evidence amounts to: how long it took, how it came out, when it is over. Pure.

Invariant: no length is ever negative, and the first rule that holds decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from . import edges
from .identity import CanonicalField
from .model import Evidence, Problem

if TYPE_CHECKING:  # a process that only applies the rules need not load how they are set
    from .settings import SessionSettings


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


def latencies(evidence: Evidence) -> Latencies:
    times = {name: moment.ts for name, moment in evidence.edges.items()}
    startup = _between(times.get(edges.STREAM_REQUEST), times.get(edges.FIRST_PROCESSED))
    e2e = _between(times.get(edges.FIRST_INGEST), times.get(edges.RUNNER_FIRST_PROCESSED))
    playable = _between(evidence.prompt_ts, times.get(edges.PLAYABLE))
    lag = _between(_forward(e2e), _forward(startup))
    found = {"startup": startup, "e2e": e2e, "prompt_to_playable": playable, "gateway_runner_lag": lag}
    negative = frozenset(f"negative_{name}" for name, length in found.items() if length is not None and length < 0)
    return Latencies(_forward(startup), _forward(e2e), _forward(playable), _forward(lag), negative)


def excuses(problems: Iterable[Problem], rules: Rules) -> list[set[str]]:
    """Of each error, the patterns that excuse it. A blank message has none."""
    messages = (problem.message.lower() for problem in problems)
    return [{pattern for pattern in rules.excusable if pattern in message} for message in messages]


def outcome(evidence: Evidence, excused: list[set[str]]) -> Outcome:
    """In the order of the rules: the first that holds decides."""
    if edges.STREAM_REQUEST not in evidence.edges:
        return Outcome.NOT_IN_DENOMINATOR
    if edges.PLAYABLE in evidence.edges:
        return Outcome.SUCCESS
    if edges.NO_ORCHESTRATORS in evidence.edges or (excused and all(excused)):
        return Outcome.EXCUSED
    return Outcome.UNEXCUSED


def final_from(evidence: Evidence, rules: Rules) -> int:
    """From which event time on nothing more is expected of a session."""
    if evidence.closed:
        return evidence.closed.ts + rules.final_after_close_ms
    return evidence.last.ts + rules.final_after_silence_ms


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start


def _forward(length: int | None) -> int | None:
    return length if length is not None and length >= 0 else None
