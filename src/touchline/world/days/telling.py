"""What the feed says of a match, and when: late scorers, corrections, glitches and all.

Invariant: a goal that stands ends with exactly one entry that names its scorer; an annulled one with none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from .model import Entry, Player, Scored
from .moments import Minute
from .script import GoalIncident, OtherIncident, Substitution, Which
from .timeline import PENALTY_MS, Timeline

PLACES = 10  # between two incidents, for what doubles them
DETAILS = {"goal": "Normal Goal", "penalty": "Penalty", "own_goal": "Own Goal"}
CARDS = {"yellow_card": "Yellow Card", "red_card": "Red Card"}
REASONS = ("Foul", "Argument", "Time wasting", "Holding", None)


Told_co = TypeVar("Told_co", bound=GoalIncident | OtherIncident | Substitution, covariant=True)


@dataclass(frozen=True, slots=True)
class Happening(Generic[Told_co]):
    """An incident of the script, with everything that was left open decided."""

    incident: Told_co
    key: str  # of the match and its number in it
    place: int
    at_ms: int
    second: int
    team_id: int
    player: Player
    other: Player | None  # who gave the pass, or came on
    corrected: Player | None = None

    @property
    def told_ms(self) -> int:
        return self.at_ms + self.incident.told_after


@dataclass(frozen=True, slots=True)
class GoalHappening(Happening[GoalIncident]):
    @property
    def annulled_ms(self) -> int | None:
        after = self.incident.annulled_after
        return None if after is None else self.told_ms + after

    @property
    def scorer(self) -> Player:
        """As the feed tells it in the end."""
        return self.corrected or self.player

    @property
    def minute(self) -> Minute:
        correction = self.incident.corrected
        return correction.minute if correction and correction.minute else self.incident.minute

    def is_shown(self, moment: int) -> bool:
        gap = self.incident.vanishes
        is_away = gap is not None and 0 <= moment - self.told_ms - gap.after < gap.lasts
        is_gone = self.annulled_ms is not None and moment >= self.annulled_ms
        return moment >= self.told_ms and not is_away and not is_gone


AnyHappening: TypeAlias = Happening[GoalIncident | OtherIncident | Substitution]


def goal_entries(goal: GoalHappening) -> Iterator[Entry]:
    """One for each stretch of time in which the feed says the same."""
    moments = _changes(goal)
    for moment, until in zip(moments, [*moments[1:], None], strict=True):
        if goal.is_shown(moment):
            yield _goal_entry(goal, moment, until, goal.place)
    double = goal.incident.doubled
    if double and goal.is_shown(goal.told_ms + double.after):
        starts = goal.told_ms + double.after
        ends = min(starts + double.lasts, goal.annulled_ms or starts + double.lasts)
        yield _goal_entry(goal, starts, ends, goal.place + 1)
    if goal.annulled_ms is not None:
        yield _cancelled(goal, goal.annulled_ms)


def _changes(goal: GoalHappening) -> list[int]:
    incident = goal.incident
    after = {0}
    after |= {incident.scorer_after} if incident.scorer_after is not None else set()
    after |= {incident.corrected.after} if incident.corrected else set()
    after |= {incident.annulled_after} if incident.annulled_after is not None else set()
    gap = incident.vanishes
    after |= {gap.after, gap.after + gap.lasts} if gap else set()
    return sorted(goal.told_ms + each for each in after)


def _goal_entry(goal: GoalHappening, moment: int, until: int | None, place: int) -> Entry:
    incident, passed = goal.incident, moment - goal.told_ms
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


def _cancelled(goal: GoalHappening, moment: int) -> Entry:
    minute = goal.minute
    place, extra = goal.place + 2, minute.extra or None
    who = (goal.team_id, goal.scorer, None)
    return Entry(moment, None, place, minute.elapsed, extra, *who, "Var", "Goal cancelled", None, None)


def other_entries(happenings: Iterable[AnyHappening]) -> Iterator[Entry]:
    """Cards, penalties that were not scored, and substitutions, which each side counts."""
    counts = Counter[int]()
    for happening in happenings:
        counts[happening.team_id] += isinstance(happening.incident, Substitution)
        yield _other_entry(happening, counts[happening.team_id])


def _other_entry(happening: AnyHappening, number: int) -> Entry:
    incident = happening.incident
    minute, assist, comments = incident.minute, None, None
    if isinstance(incident, Substitution):
        kind, detail, assist = "subst", f"Substitution {number}", happening.other
    elif incident.kind == "missed_penalty":
        kind, detail = "Goal", "Missed Penalty"
    else:
        kind, detail, comments = "Card", CARDS[incident.kind], REASONS[happening.second % len(REASONS)]
    told = (happening.told_ms, None, happening.place, minute.elapsed, minute.extra or None)
    return Entry(*told, happening.team_id, happening.player, assist, kind, detail, comments, None)


def scores(starts_ms: int, goals: Iterable[GoalHappening]) -> tuple[Scored, ...]:
    """What the feed shows; it may lag behind the entries, and takes back what was annulled."""
    steps = list[tuple[int, Which, int]]()
    for goal in goals:
        counted = goal.told_ms + goal.incident.score_after
        if goal.annulled_ms is None or counted < goal.annulled_ms:
            steps.append((counted, goal.incident.side, 1))
            steps += [(goal.annulled_ms, goal.incident.side, -1)] if goal.annulled_ms is not None else []
    shown = [Scored(starts_ms, 0, 0)]
    for moment, side, step in sorted(steps, key=lambda each: each[0]):
        last = shown[-1]
        is_home = side is Which.HOME
        shown.append(Scored(moment, last.home + step * is_home, last.away + step * (not is_home)))
    return tuple(shown)


@dataclass(frozen=True, slots=True)
class Kick:
    team_id: int
    is_home: bool
    player: Player
    is_in: bool


def shoot_out(kicks: Iterable[Kick], line: Timeline, place: int) -> tuple[list[Entry], list[Scored]]:
    entries, shown = list[Entry](), [Scored(line.shoot_out_ms, 0, 0)]
    elapsed = line.periods[-1].last
    for number, kick in enumerate(kicks, 1):
        moment = line.shoot_out_ms + number * PENALTY_MS
        detail = "Penalty" if kick.is_in else "Missed Penalty"
        about = (place + number, elapsed, number, kick.team_id, kick.player, None)
        entries.append(Entry(moment, None, *about, "Goal", detail, "Penalty Shootout", None))
        last = shown[-1]
        home, away = kick.is_in and kick.is_home, kick.is_in and not kick.is_home
        shown.append(Scored(moment, last.home + home, last.away + away))
    return entries, shown
