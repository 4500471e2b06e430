"""The teams and players that a script names, found in the catalogue; what it leaves open, drawn.

Invariant: a name that fits nobody, or more than one, is an error that says where it stands and who was meant perhaps.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from random import Random

from touchline.kernel.errors import InvalidInput

from .catalogue import catalogue
from .model import Player, Team
from .script import Match, Which

ATTACKERS = 8  # the last ones of a squad
STARTING = 11


@dataclass(frozen=True, slots=True)
class Sides:
    """Who plays whom."""

    home: Team
    away: Team
    squads: tuple[tuple[Player, ...], tuple[Player, ...]]

    def team(self, which: Which) -> Team:
        return self.home if which is Which.HOME else self.away

    def squad(self, which: Which) -> tuple[Player, ...]:
        return self.squads[0 if which is Which.HOME else 1]


def other(which: Which) -> Which:
    return Which.AWAY if which is Which.HOME else Which.HOME


def sides(match: Match, field: str) -> Sides:
    home, away = find_team(match.home, f"{field}.home"), find_team(match.away, f"{field}.away")
    if home.id == away.id:
        raise InvalidInput(f"{home.name} cannot play itself", field=f"{field}.away", hint="Name another team.")
    squads = catalogue().squads
    return Sides(home, away, (squads[home.id], squads[away.id]))


def find_team(reference: str | int, field: str) -> Team:
    teams = [team for _, team in catalogue().teams]
    wanted = folded(str(reference))
    for team in teams:
        if wanted in (str(team.id), folded(team.name), folded(team.code)):
            return team
    raise InvalidInput(
        f"there is no team {reference!r}",
        field=field,
        why=_perhaps(str(reference), [team.name for team in teams]),
        hint="Use a name, code or id of the catalogue: `touchline world teams` lists them.",
    )


def find_player(reference: str, squad: Sequence[Player], field: str) -> Player:
    wanted = folded(reference)
    exact = [each for each in squad if wanted in (folded(each.name), folded(each.full_name), str(each.id))]
    found = exact or [each for each in squad if wanted in folded(each.full_name).split()]
    if len(found) == 1:
        return found[0]
    raise InvalidInput(
        f"{'more than one' if found else 'no'} player of the side is called {reference!r}",
        field=field,
        why=_perhaps(reference, [player.full_name for player in found or squad]),
        hint="Write the full name. The player of an own goal is of the other side than the one it counts for.",
    )


def any_attacker(draw: Random, squad: Sequence[Player], but: Iterable[Player] = ()) -> Player:
    unwanted = set(but)
    return draw.choice([player for player in squad[-ATTACKERS:] if player not in unwanted])


def folded(text: str) -> str:
    plain = text.casefold().translate(str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe"}))
    return "".join(each for each in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(each))


def _perhaps(wanted: str, names: Sequence[str]) -> str:
    close = get_close_matches(wanted, names, n=3, cutoff=0.4)
    return f"these come close: {', '.join(close)}" if close else f"there are {', '.join(names[:6])} and others"
