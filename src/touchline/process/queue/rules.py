"""Which failures are final, which progress is worth telling, how long a job still takes, and what a worker asks for
next. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

import psycopg

from touchline.kernel import TenantId, TouchlineError
from touchline.kernel.errors import Forbidden, InvalidInput, LimitExceeded, Misconfigured, NotFound, Unauthenticated

from .model import Failure, JobType

LONGEST_MESSAGE = 1000
STEP_PERCENT = 5
SHORTEST_S, LONGEST_S = 0.5, 2.0  # each telling is an event that everybody hears
ALL_PERCENT = 100
LONG = frozenset({JobType.SAMPLE, JobType.OCR})  # they take long, and a video plays without them
MOST_TIMES = 4  # as many in hand as there are slots: on a busy machine what stands back does not end for long
SHORT = frozenset({JobType.CLIP_GENERATE, JobType.SEGMENT_INDEX})  # seconds, whatever the length of the video

# A bad payload, a missing or unusable original, a refused access, a broken constraint: no retry would help. Whatever
# is not listed may pass, a defect of ours included: it ends in the dead letters after the last retry.
FINAL = (InvalidInput, NotFound, Forbidden, Unauthenticated, LimitExceeded, Misconfigured, psycopg.IntegrityError)


def failure_of(error: BaseException) -> Failure:
    retryable = not isinstance(error, FINAL) or (isinstance(error, TouchlineError) and error.retryable)
    # As the database takes it: without zeros, and without halves of characters.
    text = str(error).replace("\x00", "").encode("utf-8", "replace").decode()
    message = text.strip() or type(error).__name__
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


class Slot(Enum):
    """Which of a worker's slots a job has. The two beside the usual ones are one each."""

    USUAL = auto()
    SHORT = auto()  # for what is done in seconds
    GUEST = auto()  # for a tenant that has nothing here


@dataclass(frozen=True, slots=True)
class Holding:
    """A job in hand."""

    job_type: JobType
    tenant_id: TenantId
    slot: Slot
    waited_for: bool  # somebody waits for it to play; reading, and what comes after a video plays, stands back


@dataclass(frozen=True, slots=True)
class Ask:
    """One claim: of these types, at most so many, of any tenant or of any but some."""

    slot: Slot
    types: Sequence[JobType]
    most: int
    passed_over: frozenset[TenantId] = frozenset()


def next_asks(types: Sequence[JobType], held: Collection[Holding], concurrency: int) -> Sequence[Ask]:
    """What to ask for next, until one of them is granted.

    What people wait for finds a slot although reading and what plays already have all of them, until `MOST_TIMES` as
    many jobs are in hand. One tenant takes the last slot only if no other waits. When all are taken, one short job is
    let in, and one of a tenant that has nothing here: they wait for nobody's long ones.
    """
    usual = [each for each in held if each.slot is Slot.USUAL]
    asks = list(_usual(types, usual, concurrency))
    others = {each.tenant_id for each in usual}
    if asks and len(usual) >= concurrency - 1 > 0 and len(others) == 1:
        asks.insert(0, replace(asks[0], most=1, passed_over=frozenset(others)))
    if not asks:
        taken = {each.slot for each in held}
        short = [kind for kind in types if kind in SHORT]
        if short and len(short) < len(types) and Slot.SHORT not in taken:
            asks.append(Ask(Slot.SHORT, short, 1))
        if Slot.GUEST not in taken:
            asks.append(Ask(Slot.GUEST, types, 1, frozenset(each.tenant_id for each in held)))
    return asks


def _usual(types: Sequence[JobType], usual: Collection[Holding], concurrency: int) -> Iterator[Ask]:
    at_once = (concurrency + 1) // 2  # the next claim goes on while these are done and written down
    if LONG.issuperset(types):
        free = concurrency - len(usual)
    else:
        free = min(concurrency - sum(each.waited_for for each in usual), MOST_TIMES * concurrency - len(usual))
    if free <= 0:
        return
    if LONG.isdisjoint(types) or LONG.issuperset(types):
        yield Ask(Slot.USUAL, types, min(free, at_once))
        return
    reading = sum(each.job_type in LONG for each in usual)
    room = min(max(concurrency - 1, 1) - reading, concurrency - len(usual))
    if room > 0:
        yield Ask(Slot.USUAL, types, min(free, room, at_once))
    else:
        yield Ask(Slot.USUAL, [kind for kind in types if kind not in LONG], min(free, at_once))
