"""What may be asked of each endpoint, and what the feed answers to the rest: an error with HTTP 200."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import TypeAlias

Check: TypeAlias = Callable[[str], str | None]


def _pattern(expression: str, wanted: str) -> Check:
    compiled = re.compile(expression)
    return lambda value: None if compiled.fullmatch(value) else f"must contain {wanted}"


def _date(value: str) -> str | None:
    try:
        date.fromisoformat(value)
    except ValueError:
        return "must contain a valid date, YYYY-MM-DD"
    return None


INTEGER = _pattern(r"\d{1,12}", "an integer")
IDS = _pattern(r"\d{1,12}(-\d{1,12})*", "integers separated by a dash")
SEASON = _pattern(r"\d{4}", "4 digits")

ALLOWED: dict[str, dict[str, Check]] = {
    "fixtures": {
        "id": INTEGER,
        "ids": IDS,
        "live": _pattern(r"all|\d+(-\d+)*", "all, or integers separated by a dash"),
        "date": _date,
        "league": INTEGER,
        "season": SEASON,
        "team": INTEGER,
        "from": _date,
        "to": _date,
        "status": _pattern(r"[0-9A-Z]+(-[0-9A-Z]+)*", "statuses separated by a dash"),
        "timezone": _pattern("UTC", "UTC, the only one here"),
    },
    "fixtures/events": {"fixture": INTEGER, "team": INTEGER, "player": INTEGER, "type": _pattern(r"\w+", "a type")},
    "teams": {"id": INTEGER, "name": _pattern(".+", "a name"), "league": INTEGER, "season": SEASON},
    "leagues": {"id": INTEGER, "season": SEASON, "current": _pattern("true|false", "true or false")},
    "status": {},
}
REQUIRED = {"fixtures": (), "fixtures/events": ("fixture",), "teams": (), "leagues": (), "status": ()}
NEED_ONE = frozenset({"fixtures", "teams"})
NEED_SEASON = frozenset({"fixtures", "teams"})


def wrong(endpoint: str, given: Mapping[str, str]) -> dict[str, str]:
    """By parameter; nothing if all is well."""
    allowed = ALLOWED[endpoint]
    errors = {name: f"The {name.capitalize()} field do not exist." for name in given if name not in allowed}
    for name, value in given.items():
        problem = allowed[name](value) if name in allowed else None
        if problem:
            errors[name] = f"The {name.capitalize()} field {problem}."
    for name in REQUIRED[endpoint]:
        if name not in given:
            errors[name] = f"The {name.capitalize()} field is required."
    if endpoint in NEED_ONE and not given:
        errors["required"] = "At least one parameter is required."
    if endpoint in NEED_SEASON and "league" in given and "season" not in given and "date" not in given:
        errors["season"] = "The Season field is required."
    return errors
