"""The statuses of a match, as API-Football names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from touchline_world.days.catalogue import season_of
from touchline_world.days.model import Day, Entry, Fixture, Goal, League, Outcome, Player, Team
from touchline_world.days.timeline import FeedState, feed_state, latest
from touchline_world.days.values import MINUTE
from touchline_world.videos.model import Colour
from touchline_world.world import DayClock

LONG = {
    "TBD": "Time To Be Defined",
    "NS": "Not Started",
    "1H": "First Half",
    "HT": "Halftime",
    "2H": "Second Half",
    "ET": "Extra Time",
    "BT": "Break Time",
    "P": "Penalty In Progress",
    "SUSP": "Match Suspended",
    "INT": "Match Interrupted",
    "LIVE": "In Progress",
    "FT": "Match Finished",
    "AET": "Match Finished",
    "PEN": "Match Finished",
    "PST": "Match Postponed",
    "CANC": "Match Cancelled",
    "ABD": "Match Abandoned",
    "AWD": "Technical Loss",
    "WO": "WalkOver",
}
IN_PLAY = frozenset({"1H", "HT", "2H", "ET", "BT", "P", "SUSP", "INT", "LIVE"})
FINISHED = frozenset({"FT", "AET", "PEN"})


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


def statistics(fixture: Fixture, shown: FeedState, document: Callable[[Team], dict[str, Any]]) -> list[dict[str, Any]]:
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


def _cards(shown: FeedState, team: Team, detail: str) -> int | None:
    return sum(entry.detail == detail and entry.team_id == team.id for entry in shown.entries) or None


def _player(squad: tuple[Player, ...], player: Player, letter: str, grid: str | None) -> dict[str, Any]:
    return {"id": player.id, "name": player.name, "number": squad.index(player) + 1, "pos": letter, "grid": grid}


def _hex(colour: Colour) -> str:
    return "".join(f"{part:02x}" for part in colour)


MEDIA = "https://media.invalid/football"  # a name that never leads anywhere
FLAGS = {"England": "GB", "Spain": "ES", "Germany": "DE", "Italy": "IT", "France": "FR"}
CAPACITY = 41_000


@dataclass(frozen=True, slots=True)
class Moment:
    """The day as it stands: everything that an answer depends on."""

    day: Day
    clock: DayClock
    now_ms: int

    def wall(self, day_ms: int) -> datetime:
        return self.clock.at(day_ms).astimezone(UTC).replace(microsecond=0)

    def date_of(self, fixture: Fixture) -> date:
        return self.wall(fixture.kick_off_ms).date()

    @property
    def season(self) -> int:
        """The one that is current on the wall, whatever date the script has."""
        return season_of(self.wall(0).date())


def is_live(fixture: Fixture, now_ms: int) -> bool:
    return feed_state(fixture, now_ms).status in IN_PLAY


def fixture_document(moment: Moment, fixture: Fixture, *, with_events: bool, with_all: bool = False) -> dict[str, Any]:
    shown = feed_state(fixture, moment.now_ms)
    document: dict[str, Any] = {
        "fixture": _fixture(moment, fixture, shown),
        "league": _league(moment, fixture),
        "teams": _teams(fixture, shown, moment.now_ms),
        "goals": {"home": shown.home, "away": shown.away},
        "score": _score(moment, fixture, shown),
    }
    if with_events or with_all:
        document["events"] = [event_document(fixture, entry) for entry in shown.entries]
    if with_all:
        is_known = moment.now_ms >= fixture.kick_off_ms - LINE_UP_MS
        document["lineups"] = [lineup(fixture, side, team_document) for side in (0, 1)] if is_known else []
        document["statistics"] = statistics(fixture, shown, team_document) if shown.home is not None else []
        document["players"] = []
    return document


def event_document(fixture: Fixture, entry: Entry) -> dict[str, Any]:
    team = fixture.home if entry.team_id == fixture.home.id else fixture.away
    return {
        "time": {"elapsed": entry.elapsed, "extra": entry.extra},
        "team": team_document(team),
        "player": _person(entry.player),
        "assist": _person(entry.assist),
        "type": entry.type,
        "detail": entry.detail,
        "comments": entry.comments,
    }


def team_document(team: Team) -> dict[str, Any]:
    return {"id": team.id, "name": team.name, "logo": f"{MEDIA}/teams/{team.id}.png"}


def team_with_venue(team: Team) -> dict[str, Any]:
    return {
        "team": {
            "id": team.id,
            "name": team.name,
            "code": team.code,
            "country": team.country,
            "founded": team.founded,
            "national": team.is_national,
            "logo": f"{MEDIA}/teams/{team.id}.png",
        },
        "venue": {
            "id": _venue_id(team),
            "name": team.venue,
            "address": f"{team.venue} 1",
            "city": team.city,
            "capacity": CAPACITY,
            "surface": "grass",
            "image": f"{MEDIA}/venues/{_venue_id(team)}.png",
        },
    }


def league_document(moment: Moment, league: League) -> dict[str, Any]:
    every = dict.fromkeys(
        ("standings", "players", "top_scorers", "top_assists", "top_cards", "injuries", "predictions", "odds"), False
    )
    fixtures = {"events": True, "lineups": True, "statistics_fixtures": True, "statistics_players": False}
    season = {
        "year": moment.season,
        "start": f"{moment.season}-07-01",
        "end": f"{moment.season + 1}-06-30",
        "current": True,
        "coverage": {"fixtures": fixtures, **every},
    }
    code = FLAGS.get(league.country)
    return {
        "league": {
            "id": league.id,
            "name": league.name,
            "type": "League" if code else "Cup",
            "logo": f"{MEDIA}/leagues/{league.id}.png",
        },
        "country": {"name": league.country, "code": code, "flag": _flag(league)},
        "seasons": [season],
    }


def _fixture(moment: Moment, fixture: Fixture, shown: FeedState) -> dict[str, Any]:
    kick_off = moment.wall(fixture.kick_off_ms)
    return {
        "id": fixture.id,
        "referee": None,
        "timezone": "UTC",
        "date": kick_off.isoformat(),
        "timestamp": int(kick_off.timestamp()),
        "periods": {"first": _began(moment, fixture, "1H"), "second": _began(moment, fixture, "2H")},
        "venue": {"id": _venue_id(fixture.home), "name": fixture.home.venue, "city": fixture.home.city},
        "status": {
            "long": LONG.get(shown.status, shown.status),
            "short": shown.status,
            "elapsed": shown.elapsed,
            "extra": shown.extra,
        },
    }


def _began(moment: Moment, fixture: Fixture, status: str) -> int | None:
    starts = [phase.from_ms for phase in fixture.phases if phase.status == status and phase.from_ms <= moment.now_ms]
    return int(moment.wall(starts[0]).timestamp()) if starts else None


def _league(moment: Moment, fixture: Fixture) -> dict[str, Any]:
    league = fixture.league
    return {
        "id": league.id,
        "name": league.name,
        "country": league.country,
        "logo": f"{MEDIA}/leagues/{league.id}.png",
        "flag": _flag(league),
        "season": moment.season,
        "round": fixture.round,
        "standings": league.country in FLAGS,
    }


def _flag(league: League) -> str | None:
    code = FLAGS.get(league.country)
    return f"{MEDIA}/flags/{code.lower()}.svg" if code else None


def _teams(fixture: Fixture, shown: FeedState, now_ms: int) -> dict[str, Any]:
    home, away = shown.home or 0, shown.away or 0
    penalties = latest(fixture.shoot_out, now_ms)
    if home == away and penalties and shown.status == "PEN":
        home, away = penalties.home, penalties.away
    leads = None if shown.home is None or home == away else home > away
    return {
        "home": team_document(fixture.home) | {"winner": leads},
        "away": team_document(fixture.away) | {"winner": None if leads is None else not leads},
    }


def _score(moment: Moment, fixture: Fixture, shown: FeedState) -> dict[str, Any]:
    goals = [
        goal
        for goal in moment.day.goals
        if goal.fixture_id == fixture.id
        and goal.at_ms <= moment.now_ms
        and (goal.outcome is Outcome.STANDS or (goal.annulled_ms or 0) > moment.now_ms)
    ]
    ends = [phase.from_ms for phase in fixture.phases if phase.status in {"HT", "BT", *FINISHED}]
    half, full = [*ends, None, None][:2]
    is_over = shown.status in FINISHED and full is not None
    penalties = latest(fixture.shoot_out, moment.now_ms)
    has_extra = any(phase.status == "ET" for phase in fixture.phases)
    return {
        "halftime": _count(fixture, goals, None, half) if half is not None and moment.now_ms >= half else _pair(),
        "fulltime": _count(fixture, goals, None, full) if is_over else _pair(),
        "extratime": _count(fixture, goals, full, None) if is_over and has_extra else _pair(),
        "penalty": _pair(penalties.home, penalties.away) if penalties else _pair(),
    }


def _count(fixture: Fixture, goals: Iterable[Goal], from_ms: int | None, until_ms: int | None) -> dict[str, Any]:
    between = [
        goal.team_id == fixture.home.id
        for goal in goals
        if (from_ms is None or goal.at_ms >= from_ms) and (until_ms is None or goal.at_ms < until_ms)
    ]
    return _pair(between.count(True), between.count(False))


def _pair(home: int | None = None, away: int | None = None) -> dict[str, Any]:
    return {"home": home, "away": away}


def _person(player: Player | None) -> dict[str, Any]:
    return {"id": player.id, "name": player.name} if player else {"id": None, "name": None}


def _venue_id(team: Team) -> int:
    return 500_000 + team.id


def envelope(
    get: str, parameters: dict[str, str], response: Sequence[Any] | dict[str, Any], errors: Any = None
) -> dict[str, Any]:
    """An empty object is an empty list here, as the real one writes it."""
    return {
        "get": get,
        "parameters": parameters or [],
        "errors": errors or [],
        "results": 1 if isinstance(response, dict) and response else len(response),
        "paging": {"current": 1, "total": 1},
        "response": response,
    }
