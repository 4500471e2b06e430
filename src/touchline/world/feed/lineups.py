"""Line-ups and statistics of a match, as far as the day knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchline.world.days.model import Fixture, Player, Team
from touchline.world.days.moments import MINUTE
from touchline.world.days.showing import Shown
from touchline.world.videos.model import Colour

LINE_UP_MS = 40 * MINUTE  # before kick-off
FORMATION = ((1, "G"), (4, "D"), (3, "M"), (3, "F"))
KEEPERS = {"primary": "33ff33", "number": "000000", "border": "33ff33"}


def lineup(fixture: Fixture, side: int, document: Callable[[Team], dict[str, Any]]) -> dict[str, Any]:
    team, squad = (fixture.home, fixture.away)[side], fixture.squads[side]
    shirt = {"primary": _hex(team.shirt), "number": _hex(team.shorts), "border": _hex(team.shirt)}
    # The last ones of a squad attack; the first ones of them sit on the bench.
    bench = len(squad) - 11
    starting = [squad[0], *squad[bench + 1 :]]
    places = [
        (f"{row}:{column}", letter) for row, (many, letter) in enumerate(FORMATION, 1) for column in range(1, many + 1)
    ]
    return {
        "team": document(team) | {"colors": {"player": shirt, "goalkeeper": KEEPERS}},
        "coach": {"id": 300_000 + team.id, "name": f"Coach of {team.name}", "photo": None},
        "formation": "4-3-3",
        "startXI": [
            {"player": _player(squad, player, letter, grid)}
            for player, (grid, letter) in zip(starting, places, strict=True)
        ],
        "substitutes": [{"player": _player(squad, player, "M", None)} for player in squad[1 : bench + 1]],
    }


def statistics(fixture: Fixture, shown: Shown, document: Callable[[Team], dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "team": document(team),
            "statistics": [
                {"type": "Shots on Goal", "value": (goals or 0) + 2},
                {"type": "Yellow Cards", "value": _cards(shown, team, "Yellow Card")},
                {"type": "Red Cards", "value": _cards(shown, team, "Red Card")},
                {"type": "Ball Possession", "value": "50%"},
            ],
        }
        for team, goals in ((fixture.home, shown.home), (fixture.away, shown.away))
    ]


def _cards(shown: Shown, team: Team, detail: str) -> int | None:
    return sum(entry.detail == detail and entry.team_id == team.id for entry in shown.entries) or None


def _player(squad: tuple[Player, ...], player: Player, letter: str, grid: str | None) -> dict[str, Any]:
    return {"id": player.id, "name": player.name, "number": squad.index(player) + 1, "pos": letter, "grid": grid}


def _hex(colour: Colour) -> str:
    return "".join(f"{part:02x}" for part in colour)
