"""What the documentation of API-Football v3 says about its answers: names, nesting and types."""

from __future__ import annotations

from typing import Any

NUMBER, TEXT, FLAG = int, str, bool
MAYBE_NUMBER, MAYBE_TEXT, MAYBE_FLAG = (int, type(None)), (str, type(None)), (bool, type(None))
PAIR = {"home": MAYBE_NUMBER, "away": MAYBE_NUMBER}
TEAM = {"id": NUMBER, "name": TEXT, "logo": TEXT}
FIXTURE = {
    "fixture": {
        "id": NUMBER,
        "referee": MAYBE_TEXT,
        "timezone": TEXT,
        "date": TEXT,
        "timestamp": NUMBER,
        "periods": {"first": MAYBE_NUMBER, "second": MAYBE_NUMBER},
        "venue": {"id": NUMBER, "name": TEXT, "city": TEXT},
        "status": {"long": TEXT, "short": TEXT, "elapsed": MAYBE_NUMBER, "extra": MAYBE_NUMBER},
    },
    "league": {
        "id": NUMBER,
        "name": TEXT,
        "country": TEXT,
        "logo": TEXT,
        "flag": MAYBE_TEXT,
        "season": NUMBER,
        "round": TEXT,
        "standings": FLAG,
    },
    "teams": {"home": TEAM | {"winner": MAYBE_FLAG}, "away": TEAM | {"winner": MAYBE_FLAG}},
    "goals": PAIR,
    "score": {"halftime": PAIR, "fulltime": PAIR, "extratime": PAIR, "penalty": PAIR},
}
PERSON = {"id": MAYBE_NUMBER, "name": MAYBE_TEXT}
EVENT = {
    "time": {"elapsed": NUMBER, "extra": MAYBE_NUMBER},
    "team": TEAM,
    "player": PERSON,
    "assist": PERSON,
    "type": TEXT,
    "detail": TEXT,
    "comments": MAYBE_TEXT,
}
COLOURS = {"primary": TEXT, "number": TEXT, "border": TEXT}
LINE_UP_PLAYER = {"player": {"id": NUMBER, "name": TEXT, "number": NUMBER, "pos": TEXT, "grid": MAYBE_TEXT}}
LINE_UP = {
    "team": TEAM | {"colors": {"player": COLOURS, "goalkeeper": COLOURS}},
    "coach": {"id": NUMBER, "name": TEXT, "photo": MAYBE_TEXT},
    "formation": TEXT,
    "startXI": [LINE_UP_PLAYER],
    "substitutes": [LINE_UP_PLAYER],
}
STATISTICS = {"team": TEAM, "statistics": [{"type": TEXT, "value": (int, str, type(None))}]}
WHOLE_FIXTURE = FIXTURE | {"events": [EVENT], "lineups": [LINE_UP], "statistics": [STATISTICS], "players": []}
TEAM_INFORMATION = {
    "team": TEAM | {"code": TEXT, "country": TEXT, "founded": NUMBER, "national": FLAG},
    "venue": {
        "id": NUMBER,
        "name": TEXT,
        "address": TEXT,
        "city": TEXT,
        "capacity": NUMBER,
        "surface": TEXT,
        "image": TEXT,
    },
}
COVERAGE = {
    "fixtures": {"events": FLAG, "lineups": FLAG, "statistics_fixtures": FLAG, "statistics_players": FLAG},
    "standings": FLAG,
    "players": FLAG,
    "top_scorers": FLAG,
    "top_assists": FLAG,
    "top_cards": FLAG,
    "injuries": FLAG,
    "predictions": FLAG,
    "odds": FLAG,
}
LEAGUE = {
    "league": {"id": NUMBER, "name": TEXT, "type": TEXT, "logo": TEXT},
    "country": {"name": TEXT, "code": MAYBE_TEXT, "flag": MAYBE_TEXT},
    "seasons": [{"year": NUMBER, "start": TEXT, "end": TEXT, "current": FLAG, "coverage": COVERAGE}],
}
STATUS = {
    "account": {"firstname": TEXT, "lastname": TEXT, "email": TEXT},
    "subscription": {"plan": TEXT, "end": TEXT, "active": FLAG},
    "requests": {"current": NUMBER, "limit_day": NUMBER},
}


def check(document: Any, shape: Any, where: str = "response") -> None:
    """Every field there, none more, each of its type."""
    if isinstance(shape, dict):
        assert sorted(document) == sorted(shape), where
        for name, inner in shape.items():
            check(document[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(document, list), where
        assert not shape or document, f"{where} is empty"
        for number, each in enumerate(document):
            check(each, shape[0], f"{where}[{number}]")
    else:
        assert isinstance(document, shape), where
        assert shape is not int or not isinstance(document, bool), where
