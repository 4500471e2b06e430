"""What people see of watched football: days, matches, goals.

Invariant: everything is read inside the caller's tenant; another tenant's match or goal is one that does not exist.
"""

from __future__ import annotations

from datetime import date, datetime

import strawberry

from touchline.kernel import Scope
from touchline.watch.queries import MatchPlace, MatchWindow
from touchline.watch.views import rules

from .context import Info
from .pages import Connection, PageInput, Rows, connection, window
from .watch_types import FootballFeed, Goal, Match, MatchDay, feed_of, goal_of, match_of

LONGEST_NUMBER = 18  # digits, well within what the database counts with
LONGEST_EVENT = 200


@strawberry.type
class WatchQueries:
    @strawberry.field(description="Days with matches, newest first.")
    async def match_days(self, info: Info) -> list[MatchDay]:
        context = info.context
        context.principal.require(Scope.READ)
        days = await context.parts.sources.matches.days(context.principal)
        return [
            MatchDay(day=one.day, matches=one.matches, live=one.live, goals=one.goals, covered=one.covered)
            for one in days
        ]

    @strawberry.field(description="Whether the football feed answers, from which matches come.")
    async def football_feed(self, info: Info) -> FootballFeed:
        context = info.context
        context.principal.require(Scope.READ)
        reads = context.parts.sources.matches
        return feed_of(await reads.feed(context.principal), is_enabled=reads.settings.enabled)

    @strawberry.field(description="The matches of a day in UTC, by kick-off.")
    async def matches_connection(self, info: Info, day: date, page: PageInput | None = None) -> Connection[Match]:
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(f"matches {day}")
        asked = window(page, cursor)
        places = {"after": _place(asked.after), "before": _place(asked.before)}
        found = await context.parts.sources.matches.page(
            context.principal, day, MatchWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = Rows(found.matches, has_next, has_previous, found.total_count)
        return connection(rows, [match_of(match) for match in found.matches], _place_of, cursor)

    @strawberry.field(description="Matches whose teams, competition or scorers have words that begin so. Newest first.")
    async def search_matches(self, info: Info, query: str, first: int = 20) -> list[Match]:
        context = info.context
        context.principal.require(Scope.READ)
        found = await context.parts.sources.matches.named(context.principal, query, first)
        return [match_of(match) for match in found]

    @strawberry.field
    async def match(self, info: Info, id: strawberry.ID) -> Match | None:  # noqa: A002  its name in the schema
        info.context.principal.require(Scope.READ)
        if not (id.isascii() and id.isdigit() and len(id) <= LONGEST_NUMBER):
            return None  # no id of ours
        found = await info.context.loaders.matches.load(int(id))
        return match_of(found) if found else None

    @strawberry.field(description="By the id that it has, or had before the feed named another scorer.")
    async def goal(self, info: Info, event_id: str) -> Goal | None:
        context = info.context
        context.principal.require(Scope.READ)
        if not is_event_id(event_id):
            return None
        reads = context.parts.sources.matches
        found = await reads.goal(context.principal, event_id)
        return goal_of(found, reads.limits) if found else None


def is_event_id(text: str) -> bool:
    """Whether it could be one; the rest the database knows."""
    return 0 < len(text) <= LONGEST_EVENT and text.isprintable()


def _place_of(match: rules.Match) -> bytes:
    return f"{match.kick_off.isoformat()} {match.id}".encode()


def _place(place: bytes | None) -> MatchPlace | None:
    if place is None:
        return None
    kick_off, number = place.decode().split(" ")
    return MatchPlace(datetime.fromisoformat(kick_off), int(number))
