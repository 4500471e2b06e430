"""Single values out of a document that may hold anything anywhere. Pure.

Invariant: what comes out can be stored: numbers fit their columns, text has no character that Postgres refuses.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import Any

LARGEST_ID = 2**63 - 1
LARGEST_COUNT = 100_000
LONGEST_NAME = 200
EARLIEST, LATEST = datetime(1990, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
DIGITS = re.compile(r"[0-9]{1,19}")
FORBIDDEN = re.compile("[\x00\ud800-\udfff]")  # neither can be in a text of Postgres


def field(document: Any, *path: str) -> Any:
    """What lies there, or None when the way there is no way."""
    for name in path:
        if not isinstance(document, dict):
            return None
        document = document.get(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return document  # pyright: ignore[reportUnknownVariableType]


def members(value: Any) -> list[Any]:
    """Of a list; anything else has none."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def names(value: Any) -> list[str] | None:
    """Of an object's fields; None: it is no object."""
    return [str(each) for each in value] if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def whole(value: Any, least: int = 0, most: int = LARGEST_COUNT) -> int | None:
    """A whole number, also one that came as text."""
    if isinstance(value, str) and DIGITS.fullmatch(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None


def identity(value: Any) -> int | None:
    return whole(value, 1, LARGEST_ID)


def words(value: Any) -> str | None:
    """One line of text, or nothing."""
    if not isinstance(value, str):
        return None
    return " ".join(FORBIDDEN.sub("\ufffd", value).split())[:LONGEST_NAME] or None


def moment(timestamp: Any, written: Any) -> datetime | None:
    seconds = whole(timestamp, 0, int(LATEST.timestamp()))
    if seconds is not None:
        return _sensible(datetime.fromtimestamp(seconds, UTC))
    try:
        found = datetime.fromisoformat(written) if isinstance(written, str) else None
    except ValueError:
        return None
    if found is None:
        return None
    return _sensible(found if found.tzinfo else found.replace(tzinfo=UTC))


def _sensible(found: datetime) -> datetime | None:
    try:
        found = found.astimezone(UTC)
    except OverflowError:
        return None
    return found if EARLIEST <= found < LATEST else None


def storable(value: Any) -> Any:
    """The same document as JSON that Postgres takes."""
    if isinstance(value, str):
        return FORBIDDEN.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [storable(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {storable(name): storable(each) for name, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def parsed(body: bytes) -> Any:
    """JSON from outside. ValueError: it is none, or too deep to be one."""
    try:
        return json.loads(body)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
