"""When each minute of a match is played, what the feed reports of it and when (late scorers, corrections and glitches
included), and what it shows at one moment of the day.

Invariant: minutes that are played later are later in the day, whatever interrupts the match. A goal that stands ends
with exactly one entry that names its scorer; an annulled one with none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

from touchline.kernel import InvalidInput

from .model import Entry, Fixture, Phase, Player, ScoreChange
from .script import GoalIncident, Match, MatchSide, OtherIncident, Substitution
from .values import MINUTE, Minute, seeded_random

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
                hint="Move it before `abandoned.minute`, or remove it.",
            )
        return moment


def build_timeline(match: Match, field: str) -> Timeline:
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


PLACES = 10  # between two incidents, for what doubles them
DETAILS = {"goal": "Normal Goal", "penalty": "Penalty", "own_goal": "Own Goal"}
CARDS = {"yellow_card": "Yellow Card", "red_card": "Red Card"}
REASONS = ("Foul", "Argument", "Time wasting", "Holding", None)


Incident_co = TypeVar("Incident_co", bound=GoalIncident | OtherIncident | Substitution, covariant=True)


@dataclass(frozen=True, slots=True)
class ResolvedIncident(Generic[Incident_co]):
    """An incident of the script, with everything that was left open decided."""

    incident: Incident_co
    key: str  # of the match and its number in it
    place: int
    at_ms: int
    second: int
    team_id: int
    player: Player
    other: Player | None  # who gave the pass, or came on
    corrected: Player | None = None

    @property
    def reported_ms(self) -> int:
        return self.at_ms + self.incident.told_after


@dataclass(frozen=True, slots=True)
class ResolvedGoal(ResolvedIncident[GoalIncident]):
    @property
    def annulled_ms(self) -> int | None:
        after = self.incident.annulled_after
        return None if after is None else self.reported_ms + after

    @property
    def scorer(self) -> Player:
        """As the feed has it in the end."""
        return self.corrected or self.player

    @property
    def minute(self) -> Minute:
        correction = self.incident.corrected
        return correction.minute if correction and correction.minute else self.incident.minute

    def is_shown(self, moment: int) -> bool:
        gap = self.incident.vanishes
        is_away = gap is not None and 0 <= moment - self.reported_ms - gap.after < gap.lasts
        is_gone = self.annulled_ms is not None and moment >= self.annulled_ms
        return moment >= self.reported_ms and not is_away and not is_gone


AnyResolvedIncident: TypeAlias = ResolvedIncident[GoalIncident | OtherIncident | Substitution]


def goal_entries(goal: ResolvedGoal) -> Iterator[Entry]:
    """One for each stretch of time in which the feed says the same."""
    moments = _changes(goal)
    for moment, until in zip(moments, [*moments[1:], None], strict=True):
        if goal.is_shown(moment):
            yield _goal_entry(goal, moment, until, goal.place)
    double = goal.incident.doubled
    if double and goal.is_shown(goal.reported_ms + double.after):
        starts = goal.reported_ms + double.after
        ends = min(starts + double.lasts, goal.annulled_ms or starts + double.lasts)
        yield _goal_entry(goal, starts, ends, goal.place + 1)
    if goal.annulled_ms is not None:
        yield _cancelled(goal, goal.annulled_ms)


def _changes(goal: ResolvedGoal) -> list[int]:
    incident = goal.incident
    after = {0}
    after |= {incident.scorer_after} if incident.scorer_after is not None else set()
    after |= {incident.corrected.after} if incident.corrected else set()
    after |= {incident.annulled_after} if incident.annulled_after is not None else set()
    gap = incident.vanishes
    after |= {gap.after, gap.after + gap.lasts} if gap else set()
    return sorted(goal.reported_ms + each for each in after)


def _goal_entry(goal: ResolvedGoal, moment: int, until: int | None, place: int) -> Entry:
    incident, passed = goal.incident, moment - goal.reported_ms
    is_known = incident.scorer_after is None or passed >= incident.scorer_after
    is_corrected = incident.corrected is not None and passed >= incident.corrected.after
    minute = goal.minute if is_corrected else incident.minute
    return Entry(
        from_ms=moment,
        until_ms=until,
        place=place,
        elapsed=minute.elapsed,
        extra=minute.extra or None,
        team_id=goal.team_id,
        player=(goal.scorer if is_corrected else goal.player) if is_known else None,
        assist=goal.other if is_known else None,
        type="Goal",
        detail=DETAILS[incident.kind],
        comments=None,
        goal=goal.key,
    )


def _cancelled(goal: ResolvedGoal, moment: int) -> Entry:
    minute = goal.minute
    place, extra = goal.place + 2, minute.extra or None
    who = (goal.team_id, goal.scorer, None)
    return Entry(moment, None, place, minute.elapsed, extra, *who, "Var", "Goal cancelled", None, None)


def other_entries(happenings: Iterable[AnyResolvedIncident]) -> Iterator[Entry]:
    """Cards, penalties that were not scored, and substitutions, which each side counts."""
    counts = Counter[int]()
    for happening in happenings:
        counts[happening.team_id] += isinstance(happening.incident, Substitution)
        yield _other_entry(happening, counts[happening.team_id])


def _other_entry(happening: AnyResolvedIncident, number: int) -> Entry:
    incident = happening.incident
    minute, assist, comments = incident.minute, None, None
    if isinstance(incident, Substitution):
        kind, detail, assist = "subst", f"Substitution {number}", happening.other
    elif incident.kind == "missed_penalty":
        kind, detail = "Goal", "Missed Penalty"
    else:
        kind, detail, comments = "Card", CARDS[incident.kind], REASONS[happening.second % len(REASONS)]
    timing = (happening.reported_ms, None, happening.place, minute.elapsed, minute.extra or None)
    return Entry(*timing, happening.team_id, happening.player, assist, kind, detail, comments, None)


def scores(starts_ms: int, goals: Iterable[ResolvedGoal]) -> tuple[ScoreChange, ...]:
    """What the feed shows; it may lag behind the entries, and takes back what was annulled."""
    steps = list[tuple[int, MatchSide, int]]()
    for goal in goals:
        counted = goal.reported_ms + goal.incident.score_after
        if goal.annulled_ms is None or counted < goal.annulled_ms:
            steps.append((counted, goal.incident.side, 1))
            steps += [(goal.annulled_ms, goal.incident.side, -1)] if goal.annulled_ms is not None else []
    shown = [ScoreChange(starts_ms, 0, 0)]
    for moment, side, step in sorted(steps, key=lambda each: each[0]):
        last = shown[-1]
        is_home = side is MatchSide.HOME
        shown.append(ScoreChange(moment, last.home + step * is_home, last.away + step * (not is_home)))
    return tuple(shown)


@dataclass(frozen=True, slots=True)
class Kick:
    team_id: int
    is_home: bool
    player: Player
    is_in: bool


def shoot_out(kicks: Iterable[Kick], line: Timeline, place: int) -> tuple[list[Entry], list[ScoreChange]]:
    entries, shown = list[Entry](), [ScoreChange(line.shoot_out_ms, 0, 0)]
    elapsed = line.periods[-1].last
    for number, kick in enumerate(kicks, 1):
        moment = line.shoot_out_ms + number * PENALTY_MS
        detail = "Penalty" if kick.is_in else "Missed Penalty"
        about = (place + number, elapsed, number, kick.team_id, kick.player, None)
        entries.append(Entry(moment, None, *about, "Goal", detail, "Penalty Shootout", None))
        last = shown[-1]
        home, away = kick.is_in and kick.is_home, kick.is_in and not kick.is_home
        shown.append(ScoreChange(moment, last.home + home, last.away + away))
    return entries, shown


Timed = TypeVar("Timed", Phase, ScoreChange)


@dataclass(frozen=True, slots=True)
class FeedState:
    status: str
    elapsed: int | None
    extra: int | None
    home: int | None
    away: int | None
    entries: tuple[Entry, ...]


def feed_state(fixture: Fixture, day_ms: int) -> FeedState:
    phase = latest(fixture.phases, day_ms) or fixture.phases[0]
    elapsed, extra = _minute(phase, day_ms)
    score = latest(fixture.scores, day_ms)
    home, away = (score.home, score.away) if score else (None, None)
    return FeedState(_status(fixture, phase, day_ms), elapsed, extra, home, away, visible_entries(fixture, day_ms))


def _status(fixture: Fixture, phase: Phase, day_ms: int) -> str:
    """The last that was said of it."""
    said = [each for each in fixture.statuses if each.from_ms <= day_ms and _goes_on(each.until_ms, day_ms)]
    return said[-1].status if said else phase.status


def visible_entries(fixture: Fixture, day_ms: int) -> tuple[Entry, ...]:
    """In the order of the match, unless the feed has one of its turns."""
    shown = [
        each
        for each in sorted(fixture.entries, key=lambda each: (each.place, each.from_ms))
        if each.from_ms <= day_ms and _goes_on(each.until_ms, day_ms)
    ]
    for turn in fixture.shuffles:
        if turn.from_ms <= day_ms < turn.until_ms:
            seeded_random("shuffle", turn.seed).shuffle(shown)
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
