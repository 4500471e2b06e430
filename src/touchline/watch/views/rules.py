"""What a person reads of a goal: how far it is, and why it has no video. Pure.

Invariant: every goal has exactly one state; a goal that ended without a video always says why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from touchline.watch.words import tokens

from .model import (
    FoundGroup,
    Goal,
    GoalState,
    GoalTelemetry,
    MatchTelemetry,
    Reason,
    Shown,
    ViewLimits,
)
from .words import LOST, NOTHING_FOUND, SEARCH, UNIDENTIFIED, WAITS, class_words, search_words

UNKNOWN_PLAYERS = frozenset({"", "unknown", "tbd", "n/a"})
NOTHING = "nothing_found"
TIMES = "\u00d7"
STATES = {
    GoalState.UNIDENTIFIED: "Scorer not identified",
    GoalState.STABLE: "Search is about to begin",
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
