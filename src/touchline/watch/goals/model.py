"""A goal as it is stored, and what a poll decides about the goals of a match.

Invariant: what the feed told of a goal is one value (`told`), apart from what is ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from typing import TypeAlias

from touchline.watch.fixtures.feed_documents import FeedGoal
from touchline.watch.model import MATCH_ENDS, GoalRef

GOAL_TYPE = "Goal"


class Removal(StrEnum):
    ANNULLED = "annulled"
    IDENTIFIED = "identified"  # its scorer has a name now, and with it another id
    REATTRIBUTED = "reattributed"  # the feed names another scorer
    DOUBLED = "doubled"  # the feed had listed one goal twice


class GoalOutcome(StrEnum):
    """Why nothing more is done for a goal. The first two are the search's own."""

    FOUND = "found"
    NOTHING_FOUND = "nothing_found"
    UNIDENTIFIED = "unidentified"
    SEARCH_UNAVAILABLE = "search_unavailable"
    LOST = "lost"


class Said(StrEnum):
    """What is announced of a goal after a poll."""

    SEEN = "seen"
    STABLE = "stable"
    REMOVED = "removed"
    MOVED = "moved"
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Score:
    home: int
    away: int


@dataclass(frozen=True, slots=True)
class StoredGoal:
    ref: GoalRef
    sequence: int
    reported: FeedGoal
    score: Score  # the running score with this goal
    first_seen: datetime
    monitor_workflows: tuple[str, ...] = ()  # runs in a row that saw it; no more are added once it is stable
    absent_workflows: tuple[str, ...] = ()  # runs in a row that did not
    stable_at: datetime | None = None
    workflow_id: str | None = None
    label: str | None = None
    monitor_complete: bool = False
    search_started_at: datetime | None = None
    download_complete: bool = False
    outcome: str | None = None
    removed_at: datetime | None = None
    removal: Removal | None = None
    moved_to: GoalRef | None = None

    @property
    def lives(self) -> bool:
        return self.removed_at is None


@dataclass(frozen=True, slots=True)
class Triggered:
    """A goal that is to be searched for, and the id that its search has for good."""

    goal: GoalRef
    workflow_id: str
    label: str


@dataclass(frozen=True, slots=True)
class WrittenGoal:
    """A goal as it is after the poll."""

    goal: StoredGoal
    said: Said | None  # None: nothing that anybody can see has changed
    is_new: bool = False
    reopened: bool = False  # it had ended before its scorer was known


@dataclass(frozen=True, slots=True)
class Decision:
    """Removals come first: a goal that is added may have the id of one that goes."""

    written: tuple[WrittenGoal, ...] = ()
    triggered: tuple[Triggered, ...] = ()

    @property
    def removed(self) -> Iterator[StoredGoal]:
        """Gone with everything that was found of them."""
        return (each.goal for each in self.written if each.goal.removal and not each.goal.moved_to)

    @property
    def moved(self) -> Iterator[tuple[GoalRef, GoalRef]]:
        return ((each.goal.ref, each.goal.moved_to) for each in self.written if each.goal.moved_to)


@dataclass(frozen=True, slots=True)
class Applied:
    """What a poll has changed, for those who start searches."""

    triggered: tuple[Triggered, ...] = ()
    removed: tuple[GoalRef, ...] = ()
    moved: tuple[tuple[GoalRef, GoalRef], ...] = ()
    awaited: bool = False  # a goal may be searched for soon: few more runs have to see it


# When in a match a goal was scored, as far as goals are compared by it.

Moment: TypeAlias = tuple[int, int]  # minute and extra minute: sorts as it was played
SECOND_END = MATCH_ENDS[1]
NEAR = 2  # minutes that the feed may be off when it changes its mind


def moment(goal: FeedGoal) -> Moment:
    return goal.minute, goal.extra or 0


def is_same(one: Moment, other: Moment) -> bool:
    """Feeds write 93 and later 90+3, or the other way round."""
    return one == other or (sum(one) == sum(other) and _is_rewritten(one, other))


def distance(one: Moment, other: Moment) -> int:
    """45+1 and 46 are neighbours; 45+5 and 50 are not: they lie in different halves. After the 90th minute nobody can
    tell."""
    minutes, total = abs(one[0] - other[0]), abs(sum(one) - sum(other))
    return total if _is_rewritten(one, other) and min(one, other)[0] >= SECOND_END else max(minutes, total)


def is_near(one: Moment, other: Moment) -> bool:
    return distance(one, other) <= NEAR


def nothing_between(one: Moment, other: Moment, all_goals: Iterable[Moment]) -> bool:
    """Whether two entries can have the same running score: nobody scored between them."""
    first, last = min(one, other), max(one, other)
    return is_same(one, other) or not any(first < each < last for each in all_goals)


def _is_rewritten(one: Moment, other: Moment) -> bool:
    """Whether one is written as stoppage time, and the other, after the end of that half, is not."""
    first, last = min(one, other), max(one, other)
    return first[0] in MATCH_ENDS and first[1] > 0 and last[1] == 0 and last[0] > first[0]


# Who scored, and how goals, their searches and their labels are called.
# Invariant: a name is made of letters, digits and `+ _ -` alone, whatever the feed wrote; no two goals share one.

Identity: TypeAlias = int | str
UNKNOWN_NAMES = frozenset({"", "unknown", "tbd", "n/a"})
UNKNOWN_KEY = "unknown"
SUFFIXES = frozenset({"jr", "sr", "ii", "iii", "iv"})
LONGEST_WORD = 40
LETTERS = str.maketrans(
    {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE",
     "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "Th", "ð": "d", "Ð": "D", "\u0131": "i"}
)  # fmt: skip
NOT_PLAIN = re.compile(r"[^A-Za-z0-9]+")


def is_known(name: str | None) -> bool:
    """A scorer who can be searched for."""
    return name is not None and name.strip().casefold() not in UNKNOWN_NAMES


def identity(goal: FeedGoal) -> Identity | None:
    """Who it is: by number, else by name; None when the feed says neither."""
    if goal.player_id is not None and goal.player_id > 0:
        return goal.player_id
    return _folded(goal.player_name) if goal.player_name is not None and is_known(goal.player_name) else None


def same_player(one: FeedGoal, other: FeedGoal) -> bool:
    mine, theirs = identity(one), identity(other)
    if mine is None or theirs is None:
        return False
    if type(mine) is type(theirs):
        return mine == theirs
    names = (one.player_name, other.player_name)  # one of the two has no number
    return all(is_known(name) for name in names) and len({_folded(name or "") for name in names}) == 1


def next_name(entry: FeedGoal, fixture_id: int, stored: Sequence[StoredGoal]) -> tuple[GoalRef, int]:
    """The id, generation and sequence of a goal that was not stored before: the lowest sequence that is free."""
    taken = _taken_sequences(entry, stored)
    living = {each.ref.event_id for each in stored if each.lives}
    sequence = 1
    while sequence in taken or _event_id(entry, fixture_id, sequence) in living:
        sequence += 1
    event_id = _event_id(entry, fixture_id, sequence)
    generations = [each.ref.generation for each in stored if each.ref.event_id == event_id]
    return GoalRef(fixture_id, event_id, max(generations, default=0) + 1), sequence


def _taken_sequences(entry: FeedGoal, stored: Sequence[StoredGoal]) -> Collection[int]:
    """A player's sequence runs through both teams, because of own goals; that of the unknown through one."""
    others = (each for each in stored if each.lives and each.reported.type == entry.type)
    if identity(entry) is not None:
        return {each.sequence for each in others if same_player(each.reported, entry)}
    unnamed = (each for each in others if identity(each.reported) is None)
    return {each.sequence for each in unnamed if each.reported.team.id == entry.team.id}


def _event_id(entry: FeedGoal, fixture_id: int, sequence: int) -> str:
    who = identity(entry)
    player = UNKNOWN_KEY if who is None else str(who) if isinstance(who, int) else _name_key(who)
    return f"{fixture_id}_{entry.team.id}_{player}_{plain(entry.type) or 'Event'}_{sequence}"


def label(reported: FeedGoal) -> str:
    """`{Team}-{LastName}`."""
    team = plain(reported.team.name)[:LONGEST_WORD] or f"Team{reported.team.id}"
    return f"{team}-{_last_name(reported)[:LONGEST_WORD]}"


def workflow_id(goal: GoalRef, reported: FeedGoal) -> str:
    minute = f"{reported.minute}+{reported.extra}" if reported.extra else f"{reported.minute}"
    return f"twitter-{label(reported)}-{minute}min-{goal.name}"


def plain(text: str) -> str:
    """Without accents, blanks and signs. Empty when nothing of it is Latin."""
    decomposed = unicodedata.normalize("NFKD", text.translate(LETTERS))
    return NOT_PLAIN.sub("", decomposed.translate(LETTERS).encode("ascii", "ignore").decode())


def _last_name(reported: FeedGoal) -> str:
    words = [plain(word) for word in (reported.player_name or "").split()]
    names = [word for word in words if len(word) > 1 and word.casefold() not in SUFFIXES]
    found = (names or [word for word in words if word] or [""])[-1]
    return found or f"Player{reported.player_id or ''}"


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _name_key(folded: str) -> str:
    """Never digits alone: those are numbers of players. What is not Latin is told apart by its hash."""
    digest = sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain(folded)[:LONGEST_WORD]}-{digest}" if plain(folded) else f"player-{digest}"
