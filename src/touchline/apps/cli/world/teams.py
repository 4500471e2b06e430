"""`touchline world teams`: who can play."""

from __future__ import annotations

from touchline.apps.cli.output import AsJson, show, show_json


def teams(as_json: AsJson = False) -> None:
    """List the teams and players that a script can name."""
    from touchline.world.days.catalogue import catalogue

    known = catalogue()
    if as_json:
        show_json(
            [
                {"id": team.id, "name": team.name, "code": team.code, "league": league, "words": team.words}
                | {"players": [player.full_name for player in known.squads[team.id]]}
                for league, team in known.teams
            ]
        )
        return
    for league, team in known.teams:
        show(f"{team.name} ({team.code}, {team.id}, league {league}): {', '.join(team.words)}")
        show(f"    {', '.join(player.full_name for player in known.squads[team.id])}")
