"""The state of the day at a moment, as the feed tells it; what truly happened is another document."""

from __future__ import annotations

from typing import Any

from touchline.world.clock import DayClock
from touchline.world.context import World
from touchline.world.days.model import Entry, Fixture, Team
from touchline.world.days.showing import showing
from touchline.world.social.ages import iso
from touchline.world.social.timeline import is_shown

GOALS = {"Normal Goal", "Penalty", "Own Goal"}
SHOOT_OUT = "shootout"


def clock_document(clock: DayClock, length_ms: int) -> dict[str, Any]:
    return {
        "now": iso(clock.wall.now()),
        "starts": iso(clock.starts),
        "ends": iso(clock.at(length_ms)),
        "speed": clock.speed,
        "day_ms": clock.day_ms(),
        "length_ms": length_ms,
    }


def day_document(world: World) -> dict[str, Any]:
    day, now_ms = world.day, world.clock.day_ms()
    return {
        "name": day.name,
        "seed": day.seed,
        "date": day.date.isoformat(),
        "clock": clock_document(world.clock, day.length_ms),
        "matches": [_match(world, fixture) for fixture in day.fixtures],
        "passed": _passed(world),
        "posts": sum(is_shown(post, now_ms) for post in day.posts),
        "troubles": [
            {"service": each.service, "trouble": each.trouble, "until": iso(world.clock.at(each.until_ms))}
            for each in day.faults
            if each.from_ms <= now_ms < each.until_ms
        ],
    }


def _passed(world: World) -> float:
    """The share of the time from the first kick-off to the end."""
    begins = min((fixture.kick_off_ms for fixture in world.day.fixtures), default=0)
    return min(max((world.clock.day_ms() - begins) / max(world.day.length_ms - begins, 1), 0.0), 1.0)


def _match(world: World, fixture: Fixture) -> dict[str, Any]:
    shown = showing(fixture, world.clock.day_ms())
    return {
        "id": fixture.id,
        "league": fixture.league.name,
        "round": fixture.round,
        "kick_off": iso(world.clock.at(fixture.kick_off_ms)),
        "home": _team(fixture.home),
        "away": _team(fixture.away),
        "status": shown.status,
        "minute": _minute(shown.elapsed, shown.extra),
        "score": None if shown.home is None else [shown.home, shown.away],
        "goals": [_goal(entry, fixture) for entry in shown.entries if _is_goal(entry)],
    }


def _team(team: Team) -> dict[str, Any]:
    return {"id": team.id, "name": team.name, "code": team.code, "shirt": "#{:02x}{:02x}{:02x}".format(*team.shirt)}


def _is_goal(entry: Entry) -> bool:
    in_shoot_out = SHOOT_OUT in (entry.comments or "").replace("-", "").replace(" ", "").lower()
    return entry.type == "Goal" and entry.detail in GOALS and not in_shoot_out


def _goal(entry: Entry, fixture: Fixture) -> dict[str, Any]:
    return {
        "minute": _minute(entry.elapsed, entry.extra),
        "side": "home" if entry.team_id == fixture.home.id else "away",
        "player": entry.player.name if entry.player else None,
        "detail": entry.detail,
    }


def _minute(elapsed: int | None, extra: int | None) -> str | None:
    if elapsed is None:
        return None
    return f"{elapsed}+{extra}'" if extra else f"{elapsed}'"
