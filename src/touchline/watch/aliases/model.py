"""What is known of a team, what Wikidata knows of what bears its name, and the words that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Facts:
    """Of a team, as the feed tells them."""

    national: bool
    country: str | None = None
    city: str | None = None


class TeamFacts(Protocol):
    """What aliases ask of the feed."""

    async def team(self, team_id: int) -> Mapping[str, Any] | None:
        """The feed's document, `{team: {national, country}, venue: {city}}`; None: it knows no such team.

        Raises Unavailable when it cannot say.
        """
        ...


@dataclass(frozen=True, slots=True)
class Team:
    id: int
    name: str
    facts: Facts


@dataclass(frozen=True, slots=True)
class Place:
    """A country or a city, by all its names."""

    names: frozenset[str]  # folded, without case


@dataclass(frozen=True, slots=True)
class Item:
    """What Wikidata has of something: ids of what it is, plays and lies in, and its names."""

    id: str
    label: str
    description: str = ""
    names: tuple[str, ...] = ()  # labels and aliases, in any language
    kinds: frozenset[str] = frozenset()
    sports: frozenset[str] = frozenset()
    countries: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CachedAliases:
    """What the table has of a team. Nothing found, or only what is over its time: `found` is false."""

    found: bool
    words: list[str] = field(default_factory=list[str])
    source: str = ""
    national: bool = False
    country: str | None = None
    city: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """New words for a team. With `expires_at` nobody who knows better was there."""

    team: Team
    words: tuple[str, ...]
    source: str  # model or rules
    item: str | None
    made_at: datetime
    expires_at: datetime | None
