"""The feed's documents as values. Pure.

Invariant: whatever a document holds, reading it ends, and one that cannot be read stops none of the others: it is left
out and the reason is told.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from .model import FeedFixture, FeedGoal, Team
from .values import field, identity, members, moment, storable, whole, words

UNREAD = frozenset({"lineups", "statistics", "players"})  # large, never looked at: not worth storing every half minute
SHOOT_OUT = re.compile(r"shoot[\W_]*(?:outs?|offs?)(?![^\W_])|penalt(?:y|ies)[\W_]*shoot(?![^\W_])")
LONGEST_STATUS = 12
LATEST_MINUTE = 200


class SkipReason(StrEnum):
    NOT_AN_OBJECT = "not_an_object"
    TOO_DEEP = "too_deep"
    NO_ID = "no_id"
    NO_STATUS = "no_status"
    NO_KICK_OFF = "no_kick_off"
    NO_TEAMS = "no_teams"
    DOUBLED = "doubled"
    NO_EVENTS = "no_events"  # they were asked for
    ENTRY_NOT_AN_OBJECT = "entry_not_an_object"
    ENTRY_WITHOUT_TEAM = "entry_without_team"
    ENTRY_WITHOUT_MINUTE = "entry_without_minute"


@dataclass(frozen=True, slots=True)
class LeftOut:
    reason: SkipReason
    fixture_id: int | None


@dataclass(frozen=True, slots=True)
class Tracked:
    """Which of the feed's events are followed."""

    types: frozenset[str]
    details: frozenset[str]


@dataclass(frozen=True, slots=True)
class Read:
    fixtures: tuple[FeedFixture, ...]
    left_out: tuple[LeftOut, ...]


class Unreadable(Exception):
    """Of one match."""

    def __init__(self, reason: SkipReason) -> None:
        super().__init__(reason)
        self.reason = reason


def read(response: Any, tracked: Tracked, *, with_events: bool) -> Read:
    """Every match of an answer that can be read; of one that is there twice, the first."""
    fixtures: dict[int, FeedFixture] = {}
    left_out: list[LeftOut] = []
    for document in members(response):
        fixture_id = identity(field(document, "fixture", "id"))
        if fixture_id is not None and fixture_id in fixtures:
            left_out.append(LeftOut(SkipReason.DOUBLED, fixture_id))
            continue
        try:
            fixture, entries = read_fixture(document, tracked, with_events=with_events)
        except Unreadable as error:
            left_out.append(LeftOut(error.reason, fixture_id))
            continue
        fixtures[fixture.id] = fixture
        left_out += entries
    return Read(tuple(fixtures.values()), tuple(left_out))


def read_fixture(document: Any, tracked: Tracked, *, with_events: bool) -> tuple[FeedFixture, list[LeftOut]]:
    """One match, and what of its entries was left out."""
    raw = _raw(document)
    fixture = _fixture(raw)
    if not with_events:
        return fixture, []
    if not isinstance(raw.get("events"), list):  # nothing is said about its goals, which is not "no goals"
        return fixture, [LeftOut(SkipReason.NO_EVENTS, fixture.id)]
    found = list(_goals(members(raw["events"]), fixture, tracked))
    goals = tuple(each for each in found if isinstance(each, FeedGoal))
    return replace(fixture, goals=goals), [LeftOut(each, fixture.id) for each in found if isinstance(each, SkipReason)]


def _raw(document: Any) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise Unreadable(SkipReason.NOT_AN_OBJECT)
    kept: dict[str, Any] = {name: value for name, value in document.items() if name not in UNREAD}  # pyright: ignore[reportUnknownVariableType]
    try:
        return storable(kept)
    except RecursionError as error:
        raise Unreadable(SkipReason.TOO_DEEP) from error


def _fixture(raw: Mapping[str, Any]) -> FeedFixture:
    home, away = _team(field(raw, "teams", "home")), _team(field(raw, "teams", "away"))
    status = words(field(raw, "fixture", "status", "short"))
    kick_off = moment(field(raw, "fixture", "timestamp"), field(raw, "fixture", "date"))
    return FeedFixture(
        id=_required(identity(field(raw, "fixture", "id")), SkipReason.NO_ID),
        status=_required(status, SkipReason.NO_STATUS)[:LONGEST_STATUS],
        elapsed=whole(field(raw, "fixture", "status", "elapsed"), 0, LATEST_MINUTE),
        kick_off=_required(kick_off, SkipReason.NO_KICK_OFF),
        league_id=identity(field(raw, "league", "id")),
        league_name=words(field(raw, "league", "name")) or "",
        season=whole(field(raw, "league", "season")),
        home=_required(home, SkipReason.NO_TEAMS),
        away=_required(away if home and away and away.id != home.id else None, SkipReason.NO_TEAMS),
        home_goals=whole(field(raw, "goals", "home")),
        away_goals=whole(field(raw, "goals", "away")),
        winner_id=_winner(raw, home, away),
        goals=None,
        raw=raw,
    )


def _winner(raw: Mapping[str, Any], home: Team | None, away: Team | None) -> int | None:
    """While a match runs this is who leads; of a finished one it is who won."""
    if home and field(raw, "teams", "home", "winner") is True:
        return home.id
    return away.id if away and field(raw, "teams", "away", "winner") is True else None


def _team(document: Any) -> Team | None:
    number, name = identity(field(document, "id")), words(field(document, "name"))
    return Team(number, name) if number and name else None


def _goals(entries: Sequence[Any], fixture: FeedFixture, tracked: Tracked) -> Iterator[FeedGoal | SkipReason]:
    for entry in entries:
        if not isinstance(entry, dict):
            yield SkipReason.ENTRY_NOT_AN_OBJECT
        elif is_tracked(entry, tracked):  # pyright: ignore[reportUnknownArgumentType]
            yield _goal(entry, fixture)  # pyright: ignore[reportUnknownArgumentType]


def is_tracked(entry: Mapping[str, Any], tracked: Tracked) -> bool:
    """Penalties of a shoot-out are no goals, whatever their type."""
    return (
        words(entry.get("type")) in tracked.types
        and words(entry.get("detail")) in tracked.details
        and not _is_shoot_out(words(entry.get("comments")) or "")
    )


def _is_shoot_out(comments: str) -> bool:
    """However it is written: `Penalty Shootout`, `shoot-out`, `PENALTY SHOOT OUT`."""
    return SHOOT_OUT.search(unicodedata.normalize("NFKC", comments).casefold()) is not None


def _goal(entry: Mapping[str, Any], fixture: FeedFixture) -> FeedGoal | SkipReason:
    team_id, minute = identity(field(entry, "team", "id")), whole(field(entry, "time", "elapsed"), 0, LATEST_MINUTE)
    team = next((each for each in (fixture.home, fixture.away) if each.id == team_id), None)
    if team is None:
        return SkipReason.ENTRY_WITHOUT_TEAM
    if minute is None:
        return SkipReason.ENTRY_WITHOUT_MINUTE
    return FeedGoal(
        team=team,
        player_id=identity(field(entry, "player", "id")),
        player_name=words(field(entry, "player", "name")),
        type=words(entry.get("type")) or "",
        detail=words(entry.get("detail")) or "",
        minute=minute,
        extra=whole(field(entry, "time", "extra"), 0, LATEST_MINUTE),
        raw=entry,
    )


def _required(value: Any, reason: SkipReason) -> Any:
    if value is None:
        raise Unreadable(reason)
    return value
