"""Matches, goals and videos as watching leaves them in its tables, written straight into them.

Each function answers a statement and its values, so that a test behind the tenant's wall and one that drives the
running product can use the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, LiteralString, cast
from uuid import UUID, uuid4

from psycopg.types.json import Jsonb

from touchline.contracts.events.envelope import Payload
from touchline.contracts.events.watch import FixtureChanged, GoalChanged
from touchline.platform.postgres.database import Transaction

KICK_OFF = datetime(2026, 11, 15, 20, tzinfo=UTC)
HOME, AWAY = 42, 40
POSTS = 1_850_000_000_000_000_000


@dataclass(frozen=True, slots=True)
class Statement:
    text: LiteralString
    values: Mapping[str, Any]


def match(tenant_id: UUID, fixture_id: int, **given: Any) -> Statement:
    values: dict[str, Any] = {
        "tenant_id": tenant_id,
        "id": fixture_id,
        "stage": "active",
        "status": "1H",
        "elapsed": 30,
        "kick_off": KICK_OFF,
        "league_id": 39,
        "league_name": "Premier League",
        "home_id": HOME,
        "home_name": "Arsenal",
        "away_id": AWAY,
        "away_name": "Liverpool",
        "home_goals": 0,
        "away_goals": 0,
        "raw": Jsonb({}),
        "first_seen": KICK_OFF - timedelta(days=1),
        "last_monitor": KICK_OFF + timedelta(minutes=30),
    }
    return insert("watch.fixtures", values | given)


def event_id(fixture_id: int, player_id: int = 1465, team_id: int = HOME, sequence: int = 1) -> str:
    return f"{fixture_id}_{team_id}_{player_id}_Goal_{sequence}"


def goal(tenant_id: UUID, fixture_id: int, named: str, **given: Any) -> Statement:
    raw = {"type": "Goal", "detail": "Normal Goal", "time": {"elapsed": 23, "extra": None}, "team": {"id": HOME}}
    values: dict[str, Any] = {
        "tenant_id": tenant_id,
        "event_id": named,
        "fixture_id": fixture_id,
        "team_id": HOME,
        "team_name": "Arsenal",
        "player_id": 1465,
        "player_name": "B. Saka",
        "type": "Goal",
        "detail": "Normal Goal",
        "minute": 23,
        "home_score": 1,
        "away_score": 0,
        "raw": Jsonb(raw),
        "sequence": 1,
        "first_seen": KICK_OFF + timedelta(minutes=23),
        "monitor_workflows": ["monitor-15_11_2026-20:23:00"],
    }
    return insert("watch.goals", values | given)


SEARCHING: dict[str, Any] = {
    "monitor_workflows": [f"monitor-15_11_2026-20:2{minute}:00" for minute in (3, 4, 5)],
    "stable_at": KICK_OFF + timedelta(minutes=24),
    "workflow_id": "twitter-Arsenal-Saka-23-1",
    "label": "Arsenal-Saka",
    "monitor_complete": True,
    "search_started_at": KICK_OFF + timedelta(minutes=24),
    "twitter_aliases": ["Arsenal", "Gunners"],
    "twitter_attempt": 4,
}
COMPLETE = SEARCHING | {
    "twitter_attempt": 10,
    "download_workflows": [f"download{number}" for number in range(1, 11)],
    "download_complete": True,
    "completed_at": KICK_OFF + timedelta(minutes=35),
    "outcome": "found",
    "first_archived_at": KICK_OFF + timedelta(minutes=24),
}


def found(
    tenant_id: UUID, named: str, number: int, state: str = "seen", why: str | None = None, **given: Any
) -> Statement:
    post = str(POSTS + number)
    values: dict[str, Any] = {
        "tenant_id": tenant_id,
        "event_id": named,
        "generation": 1,
        "post_id": post,
        "url": f"https://x.com/somebody/status/{post}",
        "found_at": KICK_OFF + timedelta(minutes=24),
        "found_by": "Saka Arsenal",
        "attempt": 1,
        "state": state,
        "why": why,
    }
    if state in {"downloaded", "rejected"}:
        values["md5"] = f"{number:032x}"
    if state == "rejected":
        values["validated_at"] = values["found_at"]
    return insert("watch.found", values | given)


def video(tenant_id: UUID, named: str, artifact_hash: str, rank: int | None = 1, **given: Any) -> Statement:
    values: dict[str, Any] = {
        "tenant_id": tenant_id,
        "artifact_hash": artifact_hash,
        "event_id": named,
        "generation": 1,
        "object_key": f"watch/archive/{named}/{artifact_hash}.mp4",
        "md5": artifact_hash,
        "size_bytes": 4_200_000,
        "duration_ms": 21_000,
        "width": 1280,
        "height": 720,
        "fingerprint": "dense:0.25:0.25=00ff00ff00ff00ff",
        "verified": True,
        "clock": "22:41",
        "source_url": f"https://x.com/somebody/status/{POSTS}",
        "popularity": 3,
        "rank": rank,
        "state": "kept",
        "archived_at": KICK_OFF + timedelta(minutes=24),
    }
    return insert("watch.videos", values | given)


def remove(tenant_id: UUID, named: str, removal: str = "annulled", moved_to: str | None = None) -> Statement:
    text: LiteralString = """
    UPDATE watch.goals
       SET removed_at = now(), removal = %(removal)s, moved_to = %(moved_to)s, revision = revision + 1,
           moved_generation = CASE WHEN %(moved_to)s::text IS NULL THEN NULL ELSE 1 END
     WHERE tenant_id = %(tenant_id)s AND event_id = %(event_id)s AND removed_at IS NULL
    RETURNING tenant_id
    """
    return Statement(text, {"tenant_id": tenant_id, "event_id": named, "removal": removal, "moved_to": moved_to})


def announced(tenant_id: UUID, payload: Payload, revision: int = 1) -> Statement:
    """As a transaction of ours would announce it."""
    text: LiteralString = """
    INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data)
    VALUES (%(id)s, %(tenant_id)s, %(type)s, %(version)s, %(key)s, %(revision)s, now(), %(data)s::jsonb)
    RETURNING tenant_id
    """
    values = {
        "id": uuid4(),
        "tenant_id": tenant_id,
        "type": payload.event_type,
        "version": payload.event_version,
        "key": payload.key,
        "revision": revision,
        "data": json.dumps(payload.model_dump(mode="json")),
    }
    return Statement(text, values)


def goal_changed(named: str, what: str, **more: Any) -> GoalChanged:
    return GoalChanged(event_id=named, generation=1, fixture_id=int(named.partition("_")[0]), what=what, **more)


def fixture_changed(fixture_id: int, home_goals: int = 0, away_goals: int = 0) -> FixtureChanged:
    return FixtureChanged(
        fixture_id=fixture_id, stage="active", status="1H", home_goals=home_goals, away_goals=away_goals
    )


def insert(table: LiteralString, values: Mapping[str, Any]) -> Statement:
    names = cast("LiteralString", ", ".join(values))
    places = cast("LiteralString", ", ".join(f"%({name})s" for name in values))
    return Statement(f"INSERT INTO {table} ({names}) VALUES ({places}) RETURNING tenant_id", values)  # noqa: S608  ours


async def write(transaction: Transaction, *statements: Statement) -> None:
    for statement in statements:
        await transaction.connection.execute(statement.text, statement.values)
