"""When each minute of a match is played, and what status the feed shows meanwhile.

Invariant: minutes that are played later are later in the day, whatever interrupts the match.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchline.kernel.errors import InvalidInput

from .model import Phase
from .moments import MINUTE, Minute
from .script import Match

BREAK_MS = 3 * MINUTE
PENALTY_MS = 45_000
HALVES = (("1H", 0, 45), ("2H", 45, 90))
EXTRA_HALVES = (("ET", 90, 105), ("ET", 105, 120))
AFTER_WHISTLE_MS = 20_000  # until the feed says that it is over


@dataclass(frozen=True, slots=True)
class Pause:
    at_minute: int
    lasts_ms: int
    status: str


@dataclass(frozen=True, slots=True)
class Period:
    status: str
    first: int  # what the clock shows at its start
    last: int
    added: int
    starts_ms: int
    minute_ms: int
    pauses: tuple[Pause, ...]

    @property
    def ends_ms(self) -> int:
        return self.at(self.last - self.first + self.added, 0)

    def at(self, minutes: int, second: int) -> int:
        """`minutes` have been played of it. A pause comes before what is played in the minute after it."""
        waited = sum(pause.lasts_ms for pause in self.pauses if pause.at_minute - self.first <= minutes)
        return self.starts_ms + (minutes * 60 + second) * self.minute_ms // 60 + waited

    def holds(self, minute: Minute) -> bool:
        return self.first < minute.elapsed <= self.last and (not minute.extra or minute.elapsed == self.last)


@dataclass(frozen=True, slots=True)
class Timeline:
    phases: tuple[Phase, ...]
    periods: tuple[Period, ...]
    stopped_ms: int | None  # abandoned: nothing happens any more
    shoot_out_ms: int
    ends_ms: int

    def at(self, minute: Minute, second: int, field: str = "minute") -> int:
        period = next((each for each in self.periods if each.holds(minute)), None)
        if period is None:
            raise InvalidInput(
                f"minute {minute} is not played",
                field=field,
                why="stoppage time follows 45, 90, 105 or 120, and what comes after 90 needs extra time",
                hint="Change the minute, or set `extra_time: true` for the match.",
            )
        moment = period.at(minute.elapsed - period.first - 1 + minute.extra, second)
        if self.stopped_ms is not None and moment >= self.stopped_ms:
            raise InvalidInput(
                f"minute {minute} comes after the match was abandoned",
                field=field,
                hint="Move it before `abandoned.minute`, or take it out.",
            )
        return moment


def timeline(match: Match, field: str) -> Timeline:
    if match.cancelled or (match.postponed and not match.late_kick_off):
        return _called_off(match)
    periods = _periods(match)
    _check_interruptions(match, periods, field)
    stopped = _stopped(match, periods, field)
    played = tuple(phase for phase in _played(match, periods) if stopped is None or phase.from_ms < stopped)
    if stopped is not None and match.abandoned:
        minute = match.abandoned.minute.elapsed
        ends = stopped + match.abandoned.after
        played += (Phase(stopped, "SUSP", minute, runs=False), Phase(ends, "ABD", minute, runs=False))
    phases = (*_before(match), *played)
    return Timeline(phases, periods, stopped, periods[-1].ends_ms + BREAK_MS, phases[-1].from_ms)


def _check_interruptions(match: Match, periods: tuple[Period, ...], field: str) -> None:
    seen = set[int]()
    for number, each in enumerate(match.interruptions):
        minute = each.minute.elapsed
        is_inside = any(period.first < minute < period.last for period in periods)
        if each.minute.extra or not is_inside or minute in seen:
            raise InvalidInput(
                f"the match cannot be interrupted after minute {each.minute}",
                field=f"{field}.interruptions[{number}].minute",
                why="an interruption follows a minute that is played, before the last one of a half, and only once",
                hint="Choose another minute, such as 30 or 70.",
            )
        seen.add(minute)


def _called_off(match: Match) -> Timeline:
    off, status = (match.cancelled, "CANC") if match.cancelled else (match.postponed, "PST")
    moment = max(match.kick_off - (off.before if off else 0), 1)
    phases = (Phase(0, "NS", None, runs=False), Phase(moment, status, None, runs=False))
    return Timeline(phases, (), None, moment, moment)


def _before(match: Match) -> tuple[Phase, ...]:
    waiting = (Phase(0, "NS", None, runs=False),)
    if match.postponed is None:
        return waiting
    return (*waiting, Phase(max(match.kick_off - match.postponed.before, 1), "PST", None, runs=False))


def _periods(match: Match) -> tuple[Period, ...]:
    plan = [*zip(HALVES, _added(match), (match.half_time, BREAK_MS), strict=True)]
    if match.extra_time:
        plan += [(half, _most_extra(match, half[2], 1), BREAK_MS) for half in EXTRA_HALVES]
    starts, periods = match.kick_off + match.late_kick_off, list[Period]()
    for (status, first, last), added, rest in plan:
        pauses = tuple(
            Pause(each.minute.elapsed, each.lasts, each.status)
            for each in sorted(match.interruptions, key=lambda each: each.minute)
            if first < each.minute.elapsed < last
        )
        periods.append(Period(status, first, last, added, starts, match.minute_lasts, pauses))
        starts = periods[-1].ends_ms + rest
    return tuple(periods)


def _added(match: Match) -> tuple[int, int]:
    return _most_extra(match, 45, match.added[0]), _most_extra(match, 90, match.added[1])


def _most_extra(match: Match, elapsed: int, at_least: int) -> int:
    """The referee adds as much as the incidents need."""
    moments = [incident.minute for incident in match.incidents or ()]
    return max([at_least, *(minute.extra for minute in moments if minute.elapsed == elapsed)])


def _stopped(match: Match, periods: tuple[Period, ...], field: str) -> int | None:
    if match.abandoned is None:
        return None
    minute = match.abandoned.minute
    return Timeline((), periods, None, 0, 0).at(minute, 0, f"{field}.abandoned.minute") + match.minute_lasts


def _played(match: Match, periods: tuple[Period, ...]) -> tuple[Phase, ...]:
    phases = list[Phase]()
    for number, period in enumerate(periods):
        phases += _running(period)
        rest = "HT" if number == 0 else "BT"
        phases.append(Phase(period.ends_ms, rest, period.last, runs=False))
    return (*phases[:-1], *_ending(match, periods[-1]))


def _running(period: Period) -> list[Phase]:
    phase = Phase(period.starts_ms, period.status, period.first, True, period.last, period.minute_ms)
    phases = [phase]
    for pause in period.pauses:
        resumes = period.at(pause.at_minute - period.first, 0)
        phases.append(Phase(resumes - pause.lasts_ms, pause.status, pause.at_minute, runs=False))
        phases.append(replace(phase, from_ms=resumes, minute=pause.at_minute))
    return phases


def _ending(match: Match, last: Period) -> tuple[Phase, ...]:
    over = last.ends_ms + AFTER_WHISTLE_MS
    if match.shoot_out is None:
        return (Phase(over, "AET" if match.extra_time else "FT", last.last, runs=False),)
    starts = last.ends_ms + BREAK_MS
    kicks = len(match.shoot_out.home) + len(match.shoot_out.away)
    return (
        Phase(last.ends_ms, "BT", last.last, runs=False),
        Phase(starts, "P", last.last, runs=False),
        Phase(starts + (kicks + 1) * PENALTY_MS, "PEN", last.last, runs=False),
    )
