"""Who scored, and how goals, their searches and their labels are called.

Invariant: a name is made of letters, digits and `+ _ -` alone, whatever the feed wrote; no two goals share one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import TypeAlias

from touchline.watch.feed.model import FeedGoal
from touchline.watch.model import GoalRef

from .model import StoredGoal

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
    others = (each for each in stored if each.lives and each.told.type == entry.type)
    if identity(entry) is not None:
        return {each.sequence for each in others if same_player(each.told, entry)}
    return {each.sequence for each in others if identity(each.told) is None and each.told.team.id == entry.team.id}


def _event_id(entry: FeedGoal, fixture_id: int, sequence: int) -> str:
    who = identity(entry)
    player = UNKNOWN_KEY if who is None else str(who) if isinstance(who, int) else _name_key(who)
    return f"{fixture_id}_{entry.team.id}_{player}_{plain(entry.type) or 'Event'}_{sequence}"


def label(told: FeedGoal) -> str:
    """`{Team}-{LastName}`."""
    team = plain(told.team.name)[:LONGEST_WORD] or f"Team{told.team.id}"
    return f"{team}-{_last_name(told)[:LONGEST_WORD]}"


def workflow_id(goal: GoalRef, told: FeedGoal) -> str:
    minute = f"{told.minute}+{told.extra}" if told.extra else f"{told.minute}"
    return f"twitter-{label(told)}-{minute}min-{goal.name}"


def plain(text: str) -> str:
    """Without accents, blanks and signs. Empty when nothing of it is Latin."""
    decomposed = unicodedata.normalize("NFKD", text.translate(LETTERS))
    return NOT_PLAIN.sub("", decomposed.translate(LETTERS).encode("ascii", "ignore").decode())


def _last_name(told: FeedGoal) -> str:
    words = [plain(word) for word in (told.player_name or "").split()]
    names = [word for word in words if len(word) > 1 and word.casefold() not in SUFFIXES]
    found = (names or [word for word in words if word] or [""])[-1]
    return found or f"Player{told.player_id or ''}"


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _name_key(folded: str) -> str:
    """Never digits alone: those are numbers of players. What is not Latin is told apart by its hash."""
    digest = sha256(folded.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain(folded)[:LONGEST_WORD]}-{digest}" if plain(folded) else f"player-{digest}"
