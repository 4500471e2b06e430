"""What the feed shows of a match at a moment of the day. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from .chance import dice
from .model import Entry, Fixture, Phase, Scored

Timed = TypeVar("Timed", Phase, Scored)


@dataclass(frozen=True, slots=True)
class Shown:
    status: str
    elapsed: int | None
    extra: int | None
    home: int | None
    away: int | None
    entries: tuple[Entry, ...]


def showing(fixture: Fixture, day_ms: int) -> Shown:
    phase = latest(fixture.phases, day_ms) or fixture.phases[0]
    elapsed, extra = _minute(phase, day_ms)
    score = latest(fixture.scores, day_ms)
    home, away = (score.home, score.away) if score else (None, None)
    return Shown(_status(fixture, phase, day_ms), elapsed, extra, home, away, entries(fixture, day_ms))


def _status(fixture: Fixture, phase: Phase, day_ms: int) -> str:
    """The last that was said of it."""
    said = [each for each in fixture.statuses if each.from_ms <= day_ms and _goes_on(each.until_ms, day_ms)]
    return said[-1].status if said else phase.status


def entries(fixture: Fixture, day_ms: int) -> tuple[Entry, ...]:
    """In the order of the match, unless the feed has one of its turns."""
    shown = [
        each
        for each in sorted(fixture.entries, key=lambda each: (each.place, each.from_ms))
        if each.from_ms <= day_ms and _goes_on(each.until_ms, day_ms)
    ]
    for turn in fixture.shuffles:
        if turn.from_ms <= day_ms < turn.until_ms:
            dice("shuffle", turn.seed).shuffle(shown)
    return tuple(shown)


def _goes_on(until_ms: int | None, day_ms: int) -> bool:
    return until_ms is None or day_ms < until_ms


def latest(steps: Sequence[Timed], day_ms: int) -> Timed | None:
    return next((each for each in reversed(steps) if each.from_ms <= day_ms), None)


def _minute(phase: Phase, day_ms: int) -> tuple[int | None, int | None]:
    if phase.minute is None or not phase.runs or phase.ends_minute is None:
        return phase.minute, None
    minute = phase.minute + (day_ms - phase.from_ms) // phase.minute_ms + 1
    return min(minute, phase.ends_minute), max(minute - phase.ends_minute, 0) or None
