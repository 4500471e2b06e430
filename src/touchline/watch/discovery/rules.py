"""What a search found, and what is known of it since."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import zip_longest
from math import ceil

from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.words import SHORT, compounds, fold, is_short, tokens

# What a search found, and what is known of it since.


@dataclass(frozen=True, slots=True)
class FoundVideo:
    """One video of one post, as a search tells it."""

    url: str
    post_id: str
    video_index: int
    author: str = ""
    text: str = ""
    posted_at: str | None = None  # in ISO form, UTC
    duration_s: float | None = None
    query: str = ""  # by which it was found

    @property
    def ref(self) -> FoundRef:
        return FoundRef(self.post_id, self.video_index)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A found video that may be tried."""

    post_id: str
    video_index: int
    state: str  # seen, selected or failed
    tries: int
    last_try: str | None
    retry_at: datetime | None
    found_at: datetime
    posted_at: datetime | None
    duration_s: float | None
    post_text: str

    @property
    def ref(self) -> FoundRef:
        return FoundRef(self.post_id, self.video_index)


@dataclass(frozen=True, slots=True)
class SearchedGoal:
    """Of the goal's row, what a search needs."""

    event_id: str
    generation: int
    fixture_id: int
    player_name: str | None
    first_seen: datetime
    workflow_id: str | None
    search_started_at: datetime | None
    searched_at: datetime | None
    download_workflows: list[str]
    revision: int

    @property
    def ref(self) -> GoalRef:
        return GoalRef(self.fixture_id, self.event_id, self.generation)


# The word by which people call a player, and the queries that are made of it. Pure.
# Invariant: a name that is not empty has a word: one, without accents, and no initial when there is anything else.

SUFFIXES = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv"})
MOST_QUERIES = 12
_PARTS = re.compile(r"[^\W_]+")


def player_word(name: str) -> str:
    """The last one: the family name, in most of the world. A generation is not it, nor is the end of a given name that
    stands behind the family name, as in `Lee Kang-In`."""
    words = [pieces for compound in compounds(fold(name)) if (pieces := _without_initials(compound))]
    families = [word for word in words if word[-1].casefold() not in SUFFIXES] or words
    if not families:
        return (_PARTS.findall(fold(name)) or fold(name).split() or [""])[-1]
    *others, last = families
    return last[-1] if not _is_given(last, others) else _family(last, others)


def _without_initials(compound: Sequence[str]) -> tuple[str, ...]:
    return tuple(piece for piece in compound if len(piece) > 1 or not piece.isascii())


def _is_given(last: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """A short piece of several, or two letters behind longer words."""
    if len(last) > 1:
        return is_short(last[-1])
    return len(last[-1]) < SHORT and last[-1].isascii() and any(len(word[-1]) >= SHORT for word in others)


def _family(last: Sequence[str], others: Sequence[Sequence[str]]) -> str:
    """The word before it; if that was an initial, its longest piece, or all of it if each is short."""
    if named := [word[-1] for word in others if len(word[-1]) >= SHORT]:
        return named[0]
    longest = max(last, key=len)
    return "-".join(last) if is_short(longest) else longest


def queries(player: str, words: Sequence[str], form: str, attempt: int = 1) -> list[str]:
    """Each attempt begins with another word: one whose query fails must not keep the ones behind it from their turn."""
    unique = list({tokens(word): word for word in words}.values())[:MOST_QUERIES]
    name = player_word(player)
    if not unique:
        return [name]
    if form == "together" and len(unique) > 1:
        return [f"{name} ({' OR '.join(unique)})"]
    begin = (attempt - 1) % len(unique)
    return [f"{name} {word}" for word in (*unique[begin:], *unique[:begin])]


def words_of_both(own: Iterable[str], other: Iterable[str]) -> list[str]:
    """For an own goal: the words of both teams in turn, so that neither waits for the other."""
    mixed = (word for pair in zip_longest(own, other) for word in pair if word)
    unique = dict[tuple[str, ...], str]()
    for word in mixed:
        unique.setdefault(tokens(word), word)
    return list(unique.values())


# Whether a post is an advert, by its words. Pure.
# Invariant: whole words only, and never the words of the goal's own names: Adeyemi is no ad, and nor is a player who
# is called Ad.

# A line of its own that says no more than this is the network's label.
LABELS = frozenset(
    {"ad", "ads", "advert", "promoted", "sponsored", "anzeige", "publicidad", "sponsorise", "pubblicita"}
)


def promotion(text: str, phrases: Sequence[str], names: Iterable[str]) -> str | None:
    """What gave it away; None when it is an ordinary post."""
    own = {token for name in names for token in tokens(name)}
    lines = (tokens(line) for line in text.splitlines())
    label = next((line[0] for line in lines if len(line) == 1 and line[0] in LABELS - own), None)
    if label:
        return label
    words = tokens(text)
    for phrase in phrases:
        wanted = tokens(phrase)
        if wanted and not own.issuperset(wanted) and _occurs(wanted, words):
            return phrase
    return None


def _occurs(wanted: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(words[at : at + len(wanted)] == wanted for at in range(len(words) - len(wanted) + 1))


# Which found videos are tried now, the best first, and how far back a search looks. Pure.
# Invariant: never one that somebody is at, that was refused for good, or whose pause is not over; never too many.

MINUTE = timedelta(minutes=1)
SHORTEST_S, LONGEST_S = 3.0, 60.0  # what a download keeps in the end; a post may be wrong about it
BEFORE_THE_FEED = timedelta(minutes=10)  # how long before the feed somebody may have posted the goal
MOST_TRIES = 10
LONGEST_AGE_MINUTES = 24 * 60
ONE_MORE = 1  # the network shows a post a little after it was written


@dataclass(frozen=True, slots=True)
class Aim:
    """What is looked for."""

    player_word: str
    team_words: Collection[str]
    first_seen: datetime  # of the goal


def choose(
    candidates: Iterable[Candidate], aim: Aim, ended: Collection[str], most: int, now: datetime
) -> list[Candidate]:
    """`ended`: download runs that are over. What one of them left behind untouched is free again."""
    free = [each for each in candidates if is_free(each, ended, now)]
    return sorted(free, key=lambda each: merit(each, aim))[:most]


def is_free(candidate: Candidate, ended: Collection[str], now: datetime) -> bool:
    if candidate.tries >= MOST_TRIES:
        return False
    match candidate.state:
        case "seen":
            return True
        case "failed":
            return candidate.retry_at is None or candidate.retry_at <= now
        case "selected":
            return candidate.last_try in ended
        case _:
            return False


def merit(candidate: Candidate, aim: Aim) -> tuple[int, int, int, bool, float, str, int]:
    """Lower is better: not tried before, of a good length, naming player and team, not from before the goal."""
    return (
        candidate.tries,
        _length_class(candidate.duration_s),
        -_named(candidate.post_text, aim),
        candidate.posted_at is not None and candidate.posted_at < aim.first_seen - BEFORE_THE_FEED,
        -(candidate.duration_s or 0.0),
        candidate.post_id,
        candidate.video_index,
    )


def age_minutes(goal: SearchedGoal, base: int, now: datetime) -> int:
    """Since the last search that worked; before there was one, since the goal was first seen."""
    passed = max(now - (goal.searched_at or goal.first_seen), timedelta(0))
    return min(max(base, ceil(passed / MINUTE) + ONE_MORE), LONGEST_AGE_MINUTES)


def _length_class(duration_s: float | None) -> int:
    if duration_s is None:
        return 1
    return 0 if SHORTEST_S < duration_s <= LONGEST_S else 2


def _named(text: str, aim: Aim) -> int:
    words = {*tokens(text)}
    player = bool(words.intersection(tokens(aim.player_word)))
    return player + any(words.intersection(tokens(word)) for word in aim.team_words)
