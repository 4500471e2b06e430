"""Which failures are final, which progress is worth telling, how long a job still takes, and what a worker asks for
next. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import psycopg

from touchline.kernel import TouchlineError
from touchline.kernel.errors import Forbidden, InvalidInput, LimitExceeded, Misconfigured, NotFound, Unauthenticated

from .model import Failure, JobType

LONGEST_MESSAGE = 1000
STEP_PERCENT = 5
SHORTEST_S, LONGEST_S = 0.5, 2.0  # each telling is an event that everybody hears
ALL_PERCENT = 100
LONG = frozenset({JobType.SAMPLE, JobType.OCR})  # they take long, and a video plays without them

# A bad payload, a missing or unusable original, a refused access, a broken constraint: no retry would help. Whatever
# is not listed may pass, a defect of ours included: it ends in the dead letters after the last retry.
FINAL = (InvalidInput, NotFound, Forbidden, Unauthenticated, LimitExceeded, Misconfigured, psycopg.IntegrityError)


def failure_of(error: BaseException) -> Failure:
    retryable = not isinstance(error, FINAL) or (isinstance(error, TouchlineError) and error.retryable)
    message = str(error).replace("\x00", "").strip() or type(error).__name__
    return Failure(type(error).__name__, message[:LONGEST_MESSAGE], retryable)


def is_worth_telling(percent: int, told_percent: int, elapsed_s: float) -> bool:
    """Every five percent, though not twice in half a second; and every two seconds if it moved at all."""
    patience_s = SHORTEST_S if percent - told_percent >= STEP_PERCENT else LONGEST_S
    return percent > told_percent and elapsed_s >= patience_s


def remaining_s(percent: int | None, elapsed_s: float) -> float | None:
    """How long it still takes if it goes on as it did in this attempt; None while nothing says so."""
    if percent is None or percent <= 0 or elapsed_s <= 0:
        return None
    return elapsed_s * (ALL_PERCENT - min(percent, ALL_PERCENT)) / percent


def next_claim(
    types: Sequence[JobType], held: Collection[JobType], most: int, concurrency: int
) -> tuple[Sequence[JobType], int]:
    """What to ask for, and how many. One hand stays free of what takes long, so that a new video soon plays; unless
    there is only one, or the worker does nothing else."""
    if concurrency == 1 or LONG.isdisjoint(types) or LONG.issuperset(types):
        return types, most
    room = concurrency - 1 - sum(kind in LONG for kind in held)
    if room <= 0:
        return [kind for kind in types if kind not in LONG], most
    return types, min(most, room)
