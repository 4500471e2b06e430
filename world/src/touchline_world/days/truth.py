"""What truly happened on a day, and what a perfect product would make of it, as one JSON document.

Invariant: it is computed from the day alone, by other means than the feed, so that one can check the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from touchline_world.videos.model import BugStyle, Copy, Recipe

from .catalogue import fold_accents
from .model import Clip, Day, Delivery, Fixture, Goal, Outcome, Post, Relation, Team
from .recipes import family_name

FINAL_STATUSES = frozenset({"FT", "AET", "PEN", "PST", "CANC", "ABD"})
REACHABLE = frozenset({Delivery.WHOLE, Delivery.SLOW, Delivery.BUSY})
SHORTEST_MS, LONGEST_MS = 3_000, 60_000
WRONG = {
    Relation.OTHER_GOAL: "shows another goal of the match",
    Relation.LOOK_ALIKE: "shows another match",
    Relation.UNRELATED: "shows no goal",
}


def truth(day: Day) -> dict[str, Any]:
    goals = {goal.key: goal for goal in day.goals}
    return {
        "name": day.name,
        "seed": day.seed,
        "date": day.date.isoformat(),
        "length_ms": day.length_ms,
        "matches": [_match(day, fixture) for fixture in day.fixtures],
        "goals": [_goal(day, goal) for goal in day.goals],
        "posts": [_post(day, post, goals) for post in day.posts],
        "faults": [
            {"service": each.service, "trouble": each.trouble, "from_ms": each.from_ms, "until_ms": each.until_ms}
            for each in day.faults
        ],
    }


def _match(day: Day, fixture: Fixture) -> dict[str, Any]:
    standing = [goal for goal in day.goals if goal.fixture_id == fixture.id and goal.outcome is Outcome.STANDS]
    is_played = any(phase.runs for phase in fixture.phases)
    home = sum(goal.team_id == fixture.home.id for goal in standing)
    penalties = fixture.shoot_out[-1] if fixture.shoot_out else None
    return {
        "id": fixture.id,
        "league": fixture.league.id,
        "home": _team(fixture.home),
        "away": _team(fixture.away),
        "kick_off_ms": fixture.kick_off_ms,
        "ends_ms": fixture.phases[-1].from_ms,
        "status": fixture.phases[-1].status,
        "score": [home, len(standing) - home] if is_played else None,
        "penalties": [penalties.home, penalties.away] if penalties else None,
    }


def _team(team: Team) -> dict[str, Any]:
    return {"id": team.id, "name": team.name, "words": list(team.words)}


def _goal(day: Day, goal: Goal) -> dict[str, Any]:
    return {
        "key": goal.key,
        "match": goal.fixture_id,
        "team": goal.team_id,
        "player": {"id": goal.player.id, "name": goal.player.name},
        "detail": goal.detail,
        "elapsed": goal.elapsed,
        "extra": goal.extra,
        "at_ms": goal.at_ms,
        "score": list(goal.score),
        "outcome": goal.outcome,
        "annulled_ms": goal.annulled_ms,
        "groups": groups(day, goal),
    }


def groups(day: Day, goal: Goal) -> list[dict[str, Any]]:
    """The copies that show it, by what fingerprints can tell apart: a take, and whether it is turned round."""
    found = defaultdict[tuple[int, bool], list[tuple[Post, Clip]]](list)
    for post, clip in posted_clips(day):
        if clip.relation is Relation.COPY and clip.goal == goal.key:
            found[clip.recipe.take.seed, clip.recipe.copy.is_mirrored].append((post, clip))
    return [
        {
            "has_clock": _has_clock(members[0][1].recipe),
            "is_mirrored": is_mirrored,
            "clips": [clip.recipe.key for _, clip in members],
            "posts": [post.id for post, _ in members],
            "archived": any(verdict(day, post, clip)[0] == "archive" for post, clip in members),
        }
        for (_, is_mirrored), members in found.items()
    ]


def posted_clips(day: Day) -> Iterator[tuple[Post, Clip]]:
    return ((post, clip) for post in day.posts for clip in post.clips)


def _post(day: Day, post: Post, goals: dict[str, Goal]) -> dict[str, Any]:
    return {
        "id": post.id,
        "at_ms": post.at_ms,
        "about": post.about,
        "is_promoted": post.is_promoted,
        "is_found": post.about is not None and is_found(day, post, goals[post.about]),
        "quotes": post.quoted.id if post.quoted else None,
        "clips": [_clip(day, post, clip) for clip in post.clips],
    }


def _clip(day: Day, post: Post, clip: Clip) -> dict[str, Any]:
    decision, why = verdict(day, post, clip)
    return {
        "key": clip.recipe.key,
        "relation": clip.relation,
        "shows": clip.goal,
        "delivery": clip.delivery,
        "duration_ms": duration_ms(clip.recipe),
        "verdict": decision,
        "why": why,
    }


def verdict(day: Day, post: Post, clip: Clip) -> tuple[str, str]:
    """`archive` means: it or a better copy of its group is kept."""
    about = next((goal for goal in day.goals if goal.key == post.about), None)
    reasons = (
        (about is None, "ignore", "speaks of no goal"),
        (post.is_promoted, "ignore", "promoted"),
        (about is not None and not is_found(day, post, about), "ignore", "its words do not find it"),
        (clip.delivery not in REACHABLE, "fail", f"delivery: {clip.delivery}"),
        (not SHORTEST_MS < duration_ms(clip.recipe) <= LONGEST_MS, "reject", "too short or too long"),
        (clip.relation is not Relation.COPY, "reject", WRONG.get(clip.relation, "")),
        (clip.recipe.copy.is_filmed, "reject", "filmed from a screen"),
        (about is not None and about.outcome is Outcome.ANNULLED, "delete", "the goal was annulled"),
    )
    found = next(((decision, why) for holds, decision, why in reasons if holds), None)
    return found or ("archive", "verified by its clock" if _has_clock(clip.recipe) else "unverified: no clock")


def is_found(day: Day, post: Post, goal: Goal) -> bool:
    """Whether a search for the player and a word of either team meets its text."""
    fixture = next(each for each in day.fixtures if each.id == goal.fixture_id)
    words = set(_words(post.text))
    teams = {word for team in (fixture.home, fixture.away) for each in team.words for word in _words(each)}
    return bool(words & set(_words(family_name(goal.player)))) and bool(words & teams)


def _words(text: str) -> list[str]:
    return "".join(each if each.isalnum() else " " for each in fold_accents(text)).split()


def _has_clock(recipe: Recipe) -> bool:
    return recipe.take.look is not None and recipe.take.look.style is not BugStyle.NONE


def duration_ms(recipe: Recipe) -> int:
    copy: Copy = recipe.copy
    ends = recipe.take.length_ms if copy.ends_ms is None else min(copy.ends_ms, recipe.take.length_ms)
    return (ends - copy.starts_ms) * 100 // copy.speed_percent
