"""Matches, goals and videos as they are shown: how far a goal is, and why it has no video. Pure.

Invariant: every goal has exactly one state; a goal that ended without a video always says why.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from touchline.watch.words import tokens

# What is read of matches, goals and their videos, and what is said of them. Plain values.


class GoalKey(NamedTuple):
    """A reused id is another goal, told by its generation."""

    event_id: str
    generation: int


class GoalState(StrEnum):
    UNIDENTIFIED = "unidentified"  # the feed has not named the scorer
    SEEN = "seen"  # in too few looks to be trusted
    STABLE = "stable"  # trusted, its search is about to begin
    SEARCHING = "searching"
    VALIDATING = "validating"  # all searches are over, something waits to be judged
    ARCHIVING = "archiving"  # or to be put into the archive
    COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class Match:
    id: int
    stage: str
    status: str
    elapsed: int | None
    kick_off: datetime
    league_id: int | None
    league_name: str
    home_id: int
    home_name: str
    away_id: int
    away_name: str
    home_goals: int | None
    away_goals: int | None
    last_monitor: datetime | None
    completed_at: datetime | None
    failure: str | None
    revision: int


@dataclass(frozen=True, slots=True)
class MatchDay:
    """One day in UTC."""

    day: date
    matches: int
    live: int
    goals: int
    covered: int


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """Found videos of one goal that ended alike."""

    state: str
    why: str | None  # the code alone
    waits: bool  # downloaded, and not judged yet
    count: int


@dataclass(frozen=True, slots=True)
class Video:
    """One that is kept. Rank 1 is the best."""

    artifact_hash: str
    rank: int
    verified: bool
    clock: str | None
    popularity: int
    source_url: str
    archived_at: datetime
    size_bytes: int
    duration_ms: int
    width: int
    height: int
    revision: int


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal's row with what was found of it: all of one moment."""

    event_id: str
    generation: int
    fixture_id: int
    team_id: int
    team_name: str
    player_id: int | None
    player_name: str | None
    type: str
    detail: str
    minute: int
    extra: int | None
    home_score: int
    away_score: int
    first_seen: datetime
    seen: int  # monitor runs in a row
    stable_at: datetime | None
    monitor_complete: bool
    twitter_attempt: int
    searched_at: datetime | None
    search_failure: str | None
    attempts_ended: int
    download_complete: bool
    completed_at: datetime | None
    outcome: str | None
    first_archived_at: datetime | None
    batches_waiting: int
    downloaded: int
    validated: int
    archived: int
    revision: int
    found: tuple[FoundGroup, ...] = ()
    videos: tuple[Video, ...] = ()

    @property
    def key(self) -> GoalKey:
        return GoalKey(self.event_id, self.generation)


@dataclass(frozen=True, slots=True)
class ViewLimits:
    """How much there is to come, as the settings have it."""

    polls_to_trust: int
    search_attempts: int


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason why a goal has no video, or fewer than were found; `count` is how many videos it concerns."""

    code: str
    words: str
    count: int


@dataclass(frozen=True, slots=True)
class Shown:
    state: GoalState
    words: str
    why: tuple[Reason, ...]
    summary: str  # of `why`, as one line; empty when there is nothing to explain


@dataclass(frozen=True, slots=True)
class GoalTelemetry:
    attempts: int
    found: int
    downloaded: int
    validated: int
    archived: int
    failures: Mapping[str, int]  # by class
    first_seen: datetime
    first_archived: datetime | None
    first_video_s: float | None


@dataclass(frozen=True, slots=True)
class MatchTelemetry:
    goals: int
    covered: int  # with at least one video
    coverage: float | None  # without a goal there is none
    first_video_p50_s: float | None
    first_video_p95_s: float | None
    top_failure: Reason | None


@dataclass(frozen=True, slots=True)
class GoalDocument:
    """What the documents of the seeds have beside the row: lists as they were written."""

    raw: Mapping[str, Any]
    sets: Mapping[str, list[str]] = field(default_factory=dict[str, list[str]])
    discovered: tuple[Mapping[str, Any], ...] = ()


# The classes of failures in words. One that is newer than this list shows as it is. Pure.

SEARCH = "search_unavailable"
WAITS = "waiting_for_validation"
NOTHING_FOUND = "nothing was found"
UNIDENTIFIED = "the scorer was never identified"
LOST = "its search was lost"
LONGEST_DETAIL = 80
REJECTED = {
    "not_football": "not football",
    "filmed_screen": "a phone filming a screen",
    "another_minute": "clock shows another minute",
    "too_short": "too short",
    "too_long": "too long",
    "too_few_pixels": "resolution too low",
    "wrong_shape": "wrong shape",
    "dropped": "rejected before",
}
DOWNLOADS = {
    "forbidden": "403",
    "blocked": "blocked",
    "gone": "404",
    "busy": "429",
    "no_video": "the post has no video",
    "malformed": "not a video",
    "refused_address": "address refused",
    "too_small": "file too small",
    "too_large": "file too large",
    "cut_off": "cut off",
    "no_answer": "no answer",
    "timed_out": "timed out",
    "file_lost": "file lost",
    "incoming_lost": "file lost",
}
OURS = {"validator_unavailable": "validator unavailable", "not_comparable": "could not be compared"}
SEARCHES = {
    "unauthenticated": "login expired",
    "login_expired": "login expired",
    "unavailable": "no response",
    "rate_limited": "too many searches",
    "deadline_exceeded": "timed out",
    "misconfigured": "not configured",
}
_LOGIN = re.compile(r"\b(log(ged)? ?in|sign(ed)? in|sign us in|session)\b", re.IGNORECASE)


def class_words(state: str, code: str | None) -> str:
    """Whoever rejected or failed it: the judge, the download or we ourselves."""
    key = _key(code)
    if state == "rejected" and key in REJECTED:
        return REJECTED[key]
    if key in OURS:
        return OURS[key]
    words = DOWNLOADS.get(key, plain(code))
    if state == "rejected" and key not in DOWNLOADS:
        return words or "rejected"
    return f"download failed: {words}" if words else "download failed"


def search_words(failure: str | None) -> str:
    """`search unavailable: login expired`."""
    code, _, detail = (failure or "").partition(":")
    if _LOGIN.search(detail):
        said = SEARCHES["login_expired"]
    else:
        said = SEARCHES.get(_key(code), detail.strip().partition(". ")[0][:LONGEST_DETAIL] or plain(code))
    return f"search unavailable: {said}" if said else "search unavailable"


def plain(code: str | None) -> str:
    return (code or "").strip().removeprefix("http_").replace("_", " ")


def _key(code: str | None) -> str:
    return (code or "").strip().lower().replace(" ", "_")


UNKNOWN_PLAYERS = frozenset({"", "unknown", "tbd", "n/a"})
NOTHING = "nothing_found"
TIMES = "\u00d7"
STATES = {
    GoalState.UNIDENTIFIED: "Scorer not identified",
    GoalState.STABLE: "Search starts soon",
    GoalState.VALIDATING: "Waiting for validation",
    GoalState.ARCHIVING: "Waiting to be archived",
}


def is_identified(goal: Goal) -> bool:
    return (goal.player_name or "").strip().lower() not in UNKNOWN_PLAYERS


def show(goal: Goal, limits: ViewLimits) -> Shown:
    state = state_of(goal, limits)
    why = reasons(goal, state)
    return Shown(state, _words(goal, state, limits), why, _line(why))


def state_of(goal: Goal, limits: ViewLimits) -> GoalState:
    if goal.download_complete:
        return GoalState.COMPLETE
    if not is_identified(goal):
        return GoalState.UNIDENTIFIED
    if not goal.monitor_complete:
        return GoalState.SEEN if goal.stable_at is None else GoalState.STABLE
    if goal.twitter_attempt < limits.search_attempts:
        return GoalState.SEARCHING
    if _waiting(goal):
        return GoalState.VALIDATING
    return GoalState.ARCHIVING if goal.batches_waiting else GoalState.SEARCHING


def reasons(goal: Goal, state: GoalState) -> tuple[Reason, ...]:
    """Why there is no video; nothing while there is one, or while nothing was tried."""
    if goal.videos:
        return ()
    ended = [Reason(SEARCH, search_words(goal.search_failure), 0)] if goal.search_failure else []
    if waiting := _waiting(goal):
        ended.append(Reason(WAITS, "waiting for validation", waiting))
    ended += [
        Reason(group.why or group.state, class_words(group.state, group.why), group.count)
        for group in sorted(goal.found, key=lambda group: -group.count)
        if group.state in {"rejected", "failed"}
    ]
    if ended or state is not GoalState.COMPLETE:
        return tuple(ended)
    return (_outcome(goal.outcome),)


def telemetry(goal: Goal) -> GoalTelemetry:
    failures: Counter[str] = Counter()
    for group in goal.found:
        if group.state in {"rejected", "failed"}:
            failures[group.why or group.state] += group.count
    if goal.search_failure:
        failures[SEARCH] += 1
    return GoalTelemetry(
        attempts=goal.twitter_attempt,
        found=sum(group.count for group in goal.found),
        downloaded=goal.downloaded,
        validated=goal.validated,
        archived=goal.archived,
        failures=dict(failures),
        first_seen=goal.first_seen,
        first_archived=goal.first_archived_at,
        first_video_s=first_video_s(goal),
    )


def first_video_s(goal: Goal) -> float | None:
    """Not below nothing: the clocks of two machines may differ."""
    if goal.first_archived_at is None:
        return None
    return max(0.0, (goal.first_archived_at - goal.first_seen).total_seconds())


def summary(goals: Iterable[Goal]) -> MatchTelemetry:
    goals = list(goals)
    covered = sum(1 for goal in goals if goal.videos)
    times = sorted(time for goal in goals if (time := first_video_s(goal)) is not None)
    return MatchTelemetry(
        goals=len(goals),
        covered=covered,
        coverage=covered / len(goals) if goals else None,
        first_video_p50_s=percentile(times, 50),
        first_video_p95_s=percentile(times, 95),
        top_failure=_top_failure(goals),
    )


def percentile(ordered: list[float], percent: int) -> float | None:
    """Of the nearest rank: one of the values themselves."""
    if not ordered:
        return None
    rank = -(-percent * len(ordered) // 100)
    return ordered[max(rank, 1) - 1]


def _top_failure(goals: Iterable[Goal]) -> Reason | None:
    counted: Counter[tuple[str, str]] = Counter()
    for goal in goals:
        for group in goal.found:
            if group.state in {"rejected", "failed"}:
                counted[group.why or group.state, class_words(group.state, group.why)] += group.count
        if goal.search_failure:
            counted[SEARCH, search_words(goal.search_failure)] += 1
    if not counted:
        return None
    # Of equals the first by name, so that it does not jump.
    (code, words), count = min(counted.items(), key=lambda one: (-one[1], one[0]))
    return Reason(code, words, count)


def _words(goal: Goal, state: GoalState, limits: ViewLimits) -> str:
    match state:
        case GoalState.SEEN:
            return f"Seen {min(goal.seen, limits.polls_to_trust)} of {limits.polls_to_trust}"
        case GoalState.SEARCHING:
            attempt = min(max(goal.twitter_attempt, 1), limits.search_attempts)
            return f"Searching, attempt {attempt} of {limits.search_attempts}"
        case GoalState.COMPLETE:
            return _complete(len(goal.videos))
        case _:
            return STATES[state]


def _complete(videos: int) -> str:
    return "No video" if videos == 0 else f"Complete, {videos} video{'' if videos == 1 else 's'}"


def _outcome(outcome: str | None) -> Reason:
    match outcome:
        case "unidentified":
            return Reason(outcome, UNIDENTIFIED, 0)
        case "search_unavailable":
            return Reason(outcome, search_words(None), 0)
        case "lost":
            return Reason(outcome, LOST, 0)
        case _:
            return Reason(NOTHING, NOTHING_FOUND, 0)


def _waiting(goal: Goal) -> int:
    return sum(group.count for group in goal.found if group.waits)


def _line(why: tuple[Reason, ...]) -> str:
    """All of them, with how many videos each concerns."""
    said = ", ".join(f"{one.words} {TIMES}{one.count}" if one.count > 1 else one.words for one in why)
    return said[:1].upper() + said[1:]


def is_named(query: str, names: str) -> bool:
    """Whether each word of the query begins one of the names. Neither case nor accents matter."""
    known, asked = tokens(names), tokens(query)
    return bool(asked) and all(any(name.startswith(word) for name in known) for word in asked)


def group_of(state: str, why: str | None, waits: bool, count: int) -> FoundGroup:
    """Only the code of a reason tells classes apart; what is behind its colon concerns one video."""
    code = why.partition(":")[0].strip() if why else None
    return FoundGroup(state, code or None, waits, count)
