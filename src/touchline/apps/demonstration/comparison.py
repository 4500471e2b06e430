"""What happened in the product beside what truly happened on the day. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from touchline.watch.views.rules import Goal, Match

STANDS = "stands"


@dataclass(frozen=True, slots=True)
class Compared:
    match: str
    minute: str
    scorer: str
    truth: str
    found: str
    right: bool


def compare(truth: Mapping[str, Any], goals: Mapping[int, Sequence[Goal]]) -> list[Compared]:
    """A line for each goal of the day, then one for each that the product has and the day has not."""
    names = {match["id"]: f"{match['home']['name']} - {match['away']['name']}" for match in truth["matches"]}
    shows = _shows(truth)
    compared = [_compared(goal, names, goals.get(goal["match"], ()), shows) for goal in truth["goals"]]
    true = {_identity(goal) for goal in truth["goals"] if goal["outcome"] == STANDS}
    invented = [each for match in goals.values() for each in match if _identity_of(each) not in true]
    return [*compared, *(_invented(each, names) for each in invented if not _is_true(each, truth))]


def ended(truth: Mapping[str, Any], goals: Mapping[int, Sequence[Goal]], matches: Mapping[int, Match]) -> bool:
    """Every match is over; every goal that stands is there and its search is over, and nothing else is there."""
    standing = {_identity(goal) for goal in truth["goals"] if goal["outcome"] == STANDS}
    found = {_identity_of(goal): goal for match in goals.values() for goal in match}
    over = all(match["id"] in matches and matches[match["id"]].completed_at for match in truth["matches"])
    return over and found.keys() == standing and all(goal.download_complete for goal in found.values())


Identity = tuple[int, int, int | None, int, int]


def _identity(goal: Mapping[str, Any]) -> Identity:
    return goal["match"], goal["team"], goal["player"]["id"], goal["elapsed"], goal["extra"] or 0


def _identity_of(goal: Goal) -> Identity:
    return goal.fixture_id, goal.team_id, goal.player_id, goal.minute, goal.extra or 0


def _shows(truth: Mapping[str, Any]) -> dict[str, set[str]]:
    """Which goals the videos of a post truly show."""
    return {post["id"]: {clip["shows"] for clip in post["clips"] if clip["shows"]} for post in truth["posts"]}


def _compared(
    goal: Mapping[str, Any], names: Mapping[int, str], found: Sequence[Goal], shows: Mapping[str, set[str]]
) -> Compared:
    same = next((each for each in found if _identity_of(each) == _identity(goal)), None)
    stands = goal["outcome"] == STANDS
    copies = sum(len(group["posts"]) for group in goal["groups"])
    right = _is_right(goal, same, shows) if stands else same is None
    return Compared(
        match=names[goal["match"]],
        minute=_minute(goal["elapsed"], goal["extra"]),
        scorer=goal["player"]["name"],
        truth=f"{copies} posts of {len(goal['groups'])} videos" if stands else "annulled",
        found=_found(same) if same else ("not there" if stands else "gone"),
        right=right,
    )


def _is_right(goal: Mapping[str, Any], found: Goal | None, shows: Mapping[str, set[str]]) -> bool:
    """Its best video shows this goal."""
    if found is None or not found.videos:
        return False
    best = found.videos[0].source_url
    return any(goal["key"] in shown for post, shown in shows.items() if f"/status/{post}" in best)


def _found(goal: Goal) -> str:
    if not goal.videos:
        return "no video"
    best = goal.videos[0]
    state = "verified" if best.verified else "unverified"
    others = f", {len(goal.videos) - 1} more" if len(goal.videos) > 1 else ""
    return f"{best.width}x{best.height}, {state}, found {best.popularity} times{others}"


def _is_true(goal: Goal, truth: Mapping[str, Any]) -> bool:
    """An annulled one that is still there has its line already."""
    return any(_identity(each) == _identity_of(goal) for each in truth["goals"])


def _invented(goal: Goal, names: Mapping[int, str]) -> Compared:
    match, minute = names.get(goal.fixture_id, "?"), _minute(goal.minute, goal.extra)
    return Compared(match, minute, goal.player_name or "?", "no such goal", _found(goal), right=False)


def _minute(elapsed: int, extra: int | None) -> str:
    return f"{elapsed}+{extra}" if extra else str(elapsed)


def rows(compared: Sequence[Compared]) -> Iterator[list[str]]:
    for each in compared:
        verdict = "right" if each.right else "WRONG"
        yield [each.match, each.minute, each.scorer, each.truth, each.found, verdict]
