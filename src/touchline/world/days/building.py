"""A day, made from its script: everything that will be played, told and posted, known in advance.

Invariant: `build` is pure, and every match draws from dice of its own: adding one does not change the others.
"""

from __future__ import annotations

from touchline.kernel.errors import InvalidInput

from . import catalogue
from .livening import lively
from .matches import BuiltMatch, build_match
from .model import Day, Fault
from .moments import MINUTE
from .script import Script

AFTERWARDS_MS = 15 * MINUTE


def build(script: Script) -> Day:
    leagues = catalogue.leagues(catalogue.season_of(script.date))
    by_id = {league.id: league for league in leagues}
    matches = [
        build_match(script, lively(script.seed, match, field=f"matches[{number}]"), number, by_id)
        for number, match in enumerate(script.matches)
    ]
    _each_plays_once(matches)
    faults = tuple(Fault(each.service, each.trouble, each.at, each.at + each.lasts) for each in script.faults)
    posts = sorted((post for match in matches for post in match.posts), key=lambda post: (post.at_ms, post.id))
    ends = max([*(match.ends_ms for match in matches), *(post.at_ms for post in posts)])
    return Day(
        script.name,
        script.seed,
        script.date,
        ends + AFTERWARDS_MS,
        leagues,
        catalogue.catalogue().teams,
        tuple(match.fixture for match in matches),
        tuple(goal for match in matches for goal in match.goals),
        tuple(posts),
        faults,
    )


def _each_plays_once(matches: list[BuiltMatch]) -> None:
    seen = set[int]()
    for number, match in enumerate(matches):
        for side, team in (("home", match.fixture.home), ("away", match.fixture.away)):
            if team.id in seen:
                raise InvalidInput(
                    f"{team.name} plays twice on one day",
                    field=f"matches[{number}].{side}",
                    hint="Name another team; every match draws its chances from its teams.",
                )
            seen.add(team.id)
