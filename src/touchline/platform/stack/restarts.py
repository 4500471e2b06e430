"""When a part that ended, or that answers no more, starts again. Pure: time and randomness come in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

JITTER = 0.25
MOST_DOUBLINGS = 20
LEAST_UNANSWERED = 3


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    first: timedelta
    longest: timedelta
    stable_after: timedelta


@dataclass(frozen=True, slots=True)
class LivenessPolicy:
    every: timedelta
    hung_after: timedelta


def is_hung(unanswered: int, silent_for: timedelta, policy: LivenessPolicy) -> bool:
    """Several questions as well as some time: a machine that slept, or was busy for once, is no hung process."""
    return unanswered >= LEAST_UNANSWERED and silent_for >= policy.hung_after


def failures_in_a_row(before: int, ready_for: timedelta, policy: RestartPolicy) -> int:
    """How many failures count, the one that just happened included: a part that stood long enough starts afresh."""
    return 1 if ready_for >= policy.stable_after else before + 1


def delay(failures: int, policy: RestartPolicy, luck: float) -> timedelta:
    """Doubling from the first delay up to the longest. `luck` in [0, 1) spreads parts that fell together."""
    doubled = policy.first * 2 ** min(failures - 1, MOST_DOUBLINGS)
    return min(doubled, policy.longest) * (1 + JITTER * luck)
