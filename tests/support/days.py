"""Days of one match, written as a person would script them."""

from __future__ import annotations

from typing import Any

from touchline_world.days.builder import build
from touchline_world.days.model import Day, Fixture
from touchline_world.days.script import Script
from touchline_world.days.timeline import FeedState, feed_state
from touchline_world.days.values import HOUR, MINUTE, SECOND

KICK_OFF = 15 * HOUR
TOLD = 20  # seconds from a goal until the feed tells it
SCORED_SECOND = 30


def scripted(*incidents: dict[str, Any], **match: Any) -> Script:
    whole = [{"second": SCORED_SECOND, **incident} for incident in incidents]
    played = {"home": "HAR", "away": "KIN", "incidents": whole, "chatter": 0, **match}
    return Script.model_validate({"seed": 5, "matches": [played]})


def a_day(*incidents: dict[str, Any], **match: Any) -> Day:
    return build(scripted(*incidents, **match))


def goal(minute: int | str = 10, side: str = "home", **more: Any) -> dict[str, Any]:
    return {"kind": "goal", "minute": minute, "side": side, **more}


def reported_ms(minute: int) -> int:
    """When the feed tells a goal of that minute of the first half."""
    return KICK_OFF + (minute - 1) * MINUTE + (SCORED_SECOND + TOLD) * SECOND


def after(fixture: Fixture, minute: int, seconds: int) -> FeedState:
    """What the feed shows so long after it first told a goal of that minute."""
    return feed_state(fixture, reported_ms(minute) + seconds * SECOND)


def names(shown: FeedState) -> list[str | None]:
    """Of those who scored, in the order shown."""
    return [each.player.name if each.player else None for each in shown.entries if each.type == "Goal"]


def score(shown: FeedState) -> tuple[int | None, int | None]:
    return shown.home, shown.away
