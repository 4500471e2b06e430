"""What many opinions come to: majorities, and the clock beside the goal's minute. Pure.

Invariant: each picture and each engine has one vote; nobody's silence is a vote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from touchline.watch.model import FeedMinute, GoalMinutes

from . import clock
from .periods import Reading, periods_of

# What is said about a video: by an engine of one picture, and by all of them of the whole.
# Invariant: there is no way to say "no" for an engine that did not answer: it has said nothing.


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of the video: a JPEG that the sandbox made."""

    path: Path
    at_ms: int
    video: str = ""  # pictures of one have the same name here, and no other has it


@dataclass(frozen=True, slots=True)
class Sight:
    """What an engine sees on a picture. The clock is as it reads it."""

    football: bool
    screen: bool
    clock: str | None


@dataclass(frozen=True, slots=True)
class Opinion:
    engine: str
    at_ms: int
    sight: Sight


class Sees(Protocol):
    """The port of all engines."""

    @property
    def name(self) -> str: ...

    async def look(self, frame: Frame) -> Sight:
        """Raises Unavailable when it cannot tell."""
        ...


class ClockStanding(StrEnum):
    """The clock of a video beside the goal's minute."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"  # it shows none, or cannot be trusted
    DOUBTFUL = "doubtful"  # another minute, unless the clock began at zero after a break
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Verdict:
    football: bool
    screen: bool
    clock: str | None  # as it was read
    verified: bool
    rejected: str | None  # why: a code, with details behind a colon
    engines: dict[str, Any]  # what each of them said


PLACES = (25, 75)  # per cent of the video
DECIDING = 50
PREFERRED = "model"  # whose word counts where votes are even


def standing(text: str | None, minutes: GoalMinutes, tolerance: int) -> ClockStanding:
    """Of one reading. It is verified by what the clock means, unless it can mean another goal of the match as well; it
    is rejected if nothing that it can mean is near. That it may have restarted saves it from that, and decides nothing
    else."""
    read = clock.parse(text) if text else None
    if read is None or not read.readings:
        return ClockStanding.UNVERIFIED
    goal = minutes.goal
    if any(_is_shown(goal, each, tolerance) for each in read.meant):
        others = [each for each in minutes.others if _are_apart(goal, each, tolerance)]
        is_clear = not any(_is_shown(other, each, tolerance) for other in others for each in read.readings)
        return ClockStanding.VERIFIED if is_clear else ClockStanding.UNVERIFIED
    is_near = any(_is_near(goal, each, tolerance) for each in read.meant)  # of another half: feeds write 48 for 45+3
    if is_near or any(_is_shown(goal, each, tolerance) for each in read.besides):
        return ClockStanding.UNVERIFIED
    may_restart = any(_is_shown(goal, each, tolerance) for each in read.restarted)
    return ClockStanding.DOUBTFUL if may_restart else ClockStanding.REJECTED


def _is_near(goal: FeedMinute, reading: Reading, tolerance: int) -> bool:
    return abs(reading.minute - goal.clock_minute) <= tolerance


def _is_shown(goal: FeedMinute, reading: Reading, tolerance: int) -> bool:
    is_same_period = reading.period is None or reading.period in periods_of(goal)
    return is_same_period and _is_near(goal, reading, tolerance)


def _are_apart(goal: FeedMinute, other: FeedMinute, tolerance: int) -> bool:
    """Two goals that a clock can tell apart."""
    is_same_period = bool({*periods_of(goal)} & {*periods_of(other)})
    return not is_same_period or abs(goal.clock_minute - other.clock_minute) > 2 * tolerance


def disagree(opinions: Sequence[Opinion], minutes: GoalMinutes, tolerance: int) -> bool:
    """Also about the clock, where somebody reads another minute and somebody else does not."""
    standings = {standing(each.sight.clock, minutes, tolerance) for each in opinions}
    return (
        len({each.sight.football for each in opinions}) > 1
        or len({each.sight.screen for each in opinions}) > 1
        or (ClockStanding.REJECTED in standings and len(standings) > 1)
        or {ClockStanding.VERIFIED, ClockStanding.DOUBTFUL} <= standings
    )


def majority(votes: Sequence[tuple[str, bool]], *, if_even: bool) -> bool:
    """By engine. Where votes are even, those of the preferred engine count alone."""
    for counted in ([vote for _, vote in votes], [vote for engine, vote in votes if engine == PREFERRED]):
        if 2 * sum(counted) != len(counted):
            return 2 * sum(counted) > len(counted)
    return if_even


def combined(standings: Iterable[ClockStanding]) -> ClockStanding:
    """Readings that contradict each other evenly tell nothing; where there is one, silence of others is no vote. A
    doubtful one speaks against both."""
    each = list(standings)
    right, wrong, doubtful = map(each.count, (ClockStanding.VERIFIED, ClockStanding.REJECTED, ClockStanding.DOUBTFUL))
    if right > wrong + doubtful:
        return ClockStanding.VERIFIED
    return ClockStanding.REJECTED if wrong > right + doubtful else ClockStanding.UNVERIFIED


def decide(opinions: Sequence[Opinion], minutes: GoalMinutes, tolerance: int) -> Verdict:
    football = majority([(each.engine, each.sight.football) for each in opinions], if_even=True)
    screen = majority([(each.engine, each.sight.screen) for each in opinions], if_even=False)
    read = [(each.sight.clock, standing(each.sight.clock, minutes, tolerance)) for each in opinions]
    outcome = combined(stands for _, stands in read)
    behind = {outcome, ClockStanding.DOUBTFUL} if outcome is ClockStanding.UNVERIFIED else {outcome}
    shown = next((text for text, stands in read if stands in behind and text), None)
    rejected = _rejection(football, screen, outcome, f"{shown}, not {minutes.goal.clock_minute}")
    return Verdict(
        football=football,
        screen=screen,
        clock=shown,
        verified=outcome is ClockStanding.VERIFIED and rejected is None,
        rejected=rejected,
        engines=_by_engine(opinions),
    )


def _rejection(football: bool, screen: bool, outcome: ClockStanding, minutes: str) -> str | None:
    if not football:
        return "not_football"
    if screen:
        return "filmed_screen"
    return f"another_minute: {minutes}" if outcome is ClockStanding.REJECTED else None


def _by_engine(opinions: Sequence[Opinion]) -> dict[str, list[dict[str, object]]]:
    reported: dict[str, list[dict[str, object]]] = {}
    for each in opinions:
        sight = {"football": each.sight.football, "screen": each.sight.screen, "clock": each.sight.clock}
        reported.setdefault(each.engine, []).append({"at_ms": each.at_ms, **sight})
    return reported
