"""Times as a script writes them: minutes of the match (`45+2`), times of the day (`15:30`), durations (`1m30s`); seeded
random numbers.

Invariant: each part of a day draws from a generator of its own, so that no draw depends on what another part drew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, PlainSerializer

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?")
TIME = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d))?")
MATCH_MINUTE = re.compile(r"(\d{1,3})(?:\+(\d{1,2}))?")
LATEST_HOUR = 30  # a match after midnight still belongs to its day


@dataclass(frozen=True, slots=True, order=True)
class Minute:
    """As the feed counts: the first minute of the match is 1, stoppage time is `extra`."""

    elapsed: int
    extra: int = 0

    def __str__(self) -> str:
        return f"{self.elapsed}+{self.extra}" if self.extra else str(self.elapsed)


def read_duration(value: Any) -> int:
    """In milliseconds; a bare number is seconds."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value * SECOND
    found = DURATION.fullmatch(value) if isinstance(value, str) and value else None
    if found is None:
        raise ValueError("a duration is written like 20s, 3m or 1h30m")
    hours, minutes, seconds, milliseconds = (int(each or 0) for each in found.groups())
    return hours * HOUR + minutes * MINUTE + seconds * SECOND + milliseconds


def write_duration(duration_ms: int) -> str:
    amounts: list[str] = []
    for unit, name in ((HOUR, "h"), (MINUTE, "m"), (SECOND, "s"), (1, "ms")):
        many, duration_ms = divmod(duration_ms, unit)
        amounts += [f"{many}{name}"] if many else []
    return "".join(amounts) or "0s"


def read_time(value: Any) -> int:
    found = TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found[1]) >= LATEST_HOUR:
        raise ValueError("a time of the day is written like 15:30 or 15:30:20; after midnight it goes on with 24:10")
    return int(found[1]) * HOUR + int(found[2]) * MINUTE + int(found[3] or 0) * SECOND


def write_time(day_ms: int) -> str:
    minutes, seconds = divmod(day_ms // SECOND, 60)
    return f"{minutes // 60:02}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")


def read_minute(value: Any) -> Minute:
    if isinstance(value, Minute):
        return value
    found = MATCH_MINUTE.fullmatch(str(value)) if isinstance(value, int | str) else None
    if found is None or not 1 <= int(found[1]) <= 120:
        raise ValueError("a minute of the match is written like 12 or 45+2, and lies between 1 and 120")
    return Minute(int(found[1]), int(found[2] or 0))


def write_minute(minute: Minute) -> int | str:
    return str(minute) if minute.extra else minute.elapsed


Duration: TypeAlias = Annotated[int, BeforeValidator(read_duration), PlainSerializer(write_duration)]
TimeOfDay: TypeAlias = Annotated[int, BeforeValidator(read_time), PlainSerializer(write_time)]
MatchMinute: TypeAlias = Annotated[Minute, BeforeValidator(read_minute), PlainSerializer(write_minute)]


def seeded_random(*parts: object) -> Random:
    """Seeded with text, which Python hashes itself: the same in every process."""
    return Random("/".join(str(part) for part in parts))  # noqa: S311 (a day must repeat, it keeps no secret)
