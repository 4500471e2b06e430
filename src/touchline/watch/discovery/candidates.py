"""Which found videos are tried now, the best first, and how far back a search looks. Pure.

Invariant: never one that somebody is at, that was refused for good, or whose pause is not over; never too many.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from touchline.watch.words import tokens

from .model import Candidate, SearchedGoal

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
