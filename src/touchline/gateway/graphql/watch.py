"""Watched football in GraphQL: match days, matches, goals with their videos, and their live events.

Invariant: everything is read inside the caller's tenant; another tenant's match or goal is one that does not exist.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict
from datetime import date, datetime

import strawberry

from touchline.contracts.events import watch
from touchline.kernel import Scope, parse_artifact_hash
from touchline.watch.fixtures.store import FeedCheck
from touchline.watch.queries import MatchPlace, MatchWindow
from touchline.watch.views import rules

from .context import Info
from .lifecycle import live_events
from .pages import Connection, PageInput, PageRows, connection, window
from .serve import Vod, find_vod
from .store import LiveEvent

# --- Types.

OWN_GOAL, PENALTY = "Own Goal", "Penalty"


@strawberry.type(description="A day, in UTC, with matches.")
class MatchDay:
    day: date
    matches: int
    live: int = strawberry.field(description="Matches that are being played now.")
    goals: int
    covered: int = strawberry.field(description="Goals with at least one video.")


@strawberry.type(description="The state of the football feed, from its last request for the matches of a day.")
class FootballFeed:
    is_enabled: bool = strawberry.field(
        description="Whether this installation watches football (setting `watch.enabled`)."
    )
    checked_at: datetime | None = strawberry.field(description="Null: no request was made yet.")
    answered_at: datetime | None
    failure: str | None = strawberry.field(description="Why the last request failed. Null: it succeeded.")
    why: str | None
    hint: str | None = strawberry.field(description="How to fix the failure.")
    next_try_at: datetime | None = strawberry.field(description="When the next request is made after a failure.")


@strawberry.type
class Team:
    id: strawberry.ID
    name: str
    goals: int | None


@strawberry.type(description="Why there is no video, or the most frequent problem.")
class GoalReason:
    code: str
    words: str
    count: int = strawberry.field(description="The number of affected videos; 0: the goal as a whole.")


@strawberry.type
class FailureCount:
    code: str
    count: int


@strawberry.type
class GoalTelemetry:
    attempts: int
    found: int
    downloaded: int
    validated: int
    archived: int
    failures: list[FailureCount] = strawberry.field(description="By class, most frequent first.")
    first_seen: datetime
    first_archived: datetime | None
    first_video_seconds: float | None


@strawberry.type
class MatchTelemetry:
    goals: int
    covered: int = strawberry.field(description="Goals with at least one video.")
    coverage: float | None = strawberry.field(description="Null without goals.")
    first_video_p50_seconds: float | None
    first_video_p95_seconds: float | None
    top_failure: GoalReason | None


@strawberry.type(description="An archived video of a goal: an artifact like any other.")
class GoalVideo:
    artifact_hash: str
    rank: int = strawberry.field(description="1 is the best.")
    verified: bool = strawberry.field(description="Whether the clock in the video shows the minute of the goal.")
    clock: str | None = strawberry.field(description="The clock as it was read in the video.")
    popularity: int = strawberry.field(description="How many times the same video was found.")
    source_url: str
    archived_at: datetime
    size_bytes: float
    duration_ms: int
    width: int
    height: int
    revision: int

    @strawberry.field(description="Null until it is registered, and if it was just deleted.")
    async def vod(self, info: Info) -> Vod | None:
        return await find_vod(info, parse_artifact_hash(self.artifact_hash))


@strawberry.type(description="A goal of a watched match. A goal that the referee annuls is removed.")
class Goal:
    event_id: str
    generation: int = strawberry.field(description="Increases when the id of a removed goal is given to another goal.")
    match_id: strawberry.ID
    team_id: strawberry.ID = strawberry.field(description="The team that the goal counts for.")
    team_name: str
    player_name: str | None = strawberry.field(description="Null while the scorer is unknown.")
    detail: str
    is_own_goal: bool
    is_penalty: bool
    minute: int
    extra_minute: int | None
    home_score: int = strawberry.field(description="The score with this goal.")
    away_score: int
    state: str = strawberry.field(
        description="unidentified, seen, stable, searching, validating, archiving or complete."
    )
    words: str = strawberry.field(description="The state in words.")
    why: list[GoalReason] = strawberry.field(description="Why there is no video. Empty while no search was made.")
    why_summary: str
    outcome: str | None
    is_complete: bool
    telemetry: GoalTelemetry
    videos: list[GoalVideo] = strawberry.field(description="Best first.")
    revision: int


@strawberry.type
class Match:
    id: strawberry.ID
    stage: str = strawberry.field(description="staging, active or completed.")
    status: str = strawberry.field(description="The status from the feed: NS, 1H, HT, 2H, FT and so on.")
    elapsed: int | None = strawberry.field(description="The minute of play.")
    kick_off: datetime
    league_name: str
    home: Team
    away: Team
    checked_at: datetime | None = strawberry.field(description="When the feed last sent data about it.")
    failure: str | None = strawberry.field(description="Why the last poll of it failed.")
    revision: int
    number: strawberry.Private[int]

    @strawberry.field(description="In the order in which they were scored.")
    async def goals(self, info: Info) -> list[Goal]:
        limits = info.context.composition.sources.matches.limits
        return [goal_of(goal, limits) for goal in await info.context.loaders.goals.load(self.number)]

    @strawberry.field
    async def telemetry(self, info: Info) -> MatchTelemetry:
        return telemetry_of(await info.context.loaders.goals.load(self.number))


def feed_of(check: FeedCheck | None, *, is_enabled: bool) -> FootballFeed:
    return FootballFeed(
        is_enabled=is_enabled,
        checked_at=check and check.checked_at,
        answered_at=check and check.answered_at,
        failure=check and check.failure,
        why=check and check.why,
        hint=check and check.hint,
        next_try_at=check and check.next_try_at,
    )


def match_of(match: rules.Match) -> Match:
    return Match(
        id=strawberry.ID(str(match.id)),
        stage=match.stage,
        status=match.status,
        elapsed=match.elapsed,
        kick_off=match.kick_off,
        league_name=match.league_name,
        home=Team(id=strawberry.ID(str(match.home_id)), name=match.home_name, goals=match.home_goals),
        away=Team(id=strawberry.ID(str(match.away_id)), name=match.away_name, goals=match.away_goals),
        checked_at=match.last_monitor,
        failure=match.failure,
        revision=match.revision,
        number=match.id,
    )


def goal_of(goal: rules.Goal, limits: rules.ViewLimits) -> Goal:
    shown = rules.show(goal, limits)
    return Goal(
        event_id=goal.event_id,
        generation=goal.generation,
        match_id=strawberry.ID(str(goal.fixture_id)),
        team_id=strawberry.ID(str(goal.team_id)),
        team_name=goal.team_name,
        player_name=goal.player_name if rules.is_identified(goal) else None,
        detail=goal.detail,
        is_own_goal=goal.detail == OWN_GOAL,
        is_penalty=goal.detail == PENALTY,
        minute=goal.minute,
        extra_minute=goal.extra,
        home_score=goal.home_score,
        away_score=goal.away_score,
        state=shown.state,
        words=shown.words,
        why=[GoalReason(**asdict(reason)) for reason in shown.why],
        why_summary=shown.summary,
        outcome=goal.outcome,
        is_complete=goal.download_complete,
        telemetry=_goal_telemetry(goal),
        videos=[GoalVideo(**asdict(video)) for video in goal.videos],
        revision=goal.revision,
    )


def telemetry_of(goals: Sequence[rules.Goal]) -> MatchTelemetry:
    said = rules.summary(goals)
    return MatchTelemetry(
        goals=said.goals,
        covered=said.covered,
        coverage=said.coverage,
        first_video_p50_seconds=said.first_video_p50_s,
        first_video_p95_seconds=said.first_video_p95_s,
        top_failure=GoalReason(**asdict(said.top_failure)) if said.top_failure else None,
    )


def _goal_telemetry(goal: rules.Goal) -> GoalTelemetry:
    said = rules.telemetry(goal)
    failures = sorted(said.failures.items(), key=lambda one: (-one[1], one[0]))
    return GoalTelemetry(
        attempts=said.attempts,
        found=said.found,
        downloaded=said.downloaded,
        validated=said.validated,
        archived=said.archived,
        failures=[FailureCount(code=code, count=count) for code, count in failures],
        first_seen=said.first_seen,
        first_archived=said.first_archived,
        first_video_seconds=said.first_video_s,
    )


# --- Queries.

LONGEST_NUMBER = 18  # digits, well within what the database counts with
LONGEST_EVENT = 200


@strawberry.type
class WatchQueries:
    @strawberry.field(description="Days with matches, newest first.")
    async def match_days(self, info: Info) -> list[MatchDay]:
        context = info.context
        context.principal.require(Scope.READ)
        days = await context.composition.sources.matches.days(context.principal)
        return [
            MatchDay(day=one.day, matches=one.matches, live=one.live, goals=one.goals, covered=one.covered)
            for one in days
        ]

    @strawberry.field(description="The state of the football feed.")
    async def football_feed(self, info: Info) -> FootballFeed:
        context = info.context
        context.principal.require(Scope.READ)
        reads = context.composition.sources.matches
        return feed_of(await reads.feed(context.principal), is_enabled=reads.settings.enabled)

    @strawberry.field(description="The matches of a day in UTC, by kick-off.")
    async def matches_connection(self, info: Info, day: date, page: PageInput | None = None) -> Connection[Match]:
        context = info.context
        context.principal.require(Scope.READ)
        cursor = context.cursor(f"matches {day}")
        asked = window(page, cursor)
        places = {"after": _place(asked.after), "before": _place(asked.before)}
        found = await context.composition.sources.matches.page(
            context.principal, day, MatchWindow(asked.size, from_the_end=asked.from_the_end, **places)
        )
        behind, ahead = asked.after is not None, asked.before is not None
        has_next, has_previous = (ahead, found.more) if asked.from_the_end else (found.more, behind)
        rows = PageRows(found.matches, has_next, has_previous, found.total_count)
        return connection(rows, [match_of(match) for match in found.matches], _place_of, cursor)

    @strawberry.field(
        description="Matches with a team, competition or scorer that has a word with this beginning. Newest first."
    )
    async def search_matches(self, info: Info, query: str, first: int = 20) -> list[Match]:
        context = info.context
        context.principal.require(Scope.READ)
        found = await context.composition.sources.matches.named(context.principal, query, first)
        return [match_of(match) for match in found]

    @strawberry.field
    async def match(self, info: Info, id: strawberry.ID) -> Match | None:  # noqa: A002  its name in the schema
        info.context.principal.require(Scope.READ)
        if not (id.isascii() and id.isdigit() and len(id) <= LONGEST_NUMBER):
            return None  # no id of ours
        found = await info.context.loaders.matches.load(int(id))
        return match_of(found) if found else None

    @strawberry.field(description="By its id, or by an id that it had before the feed corrected the scorer.")
    async def goal(self, info: Info, event_id: str) -> Goal | None:
        context = info.context
        context.principal.require(Scope.READ)
        if not is_event_id(event_id):
            return None
        reads = context.composition.sources.matches
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


# --- Live events: scores, goals and their videos.

_SHOWN = (watch.FixtureChanged, watch.GoalChanged, watch.GoalVideoKept, watch.GoalVideoDropped)
FIXTURE, GOAL, KEPT, DROPPED = (kind.event_type for kind in _SHOWN)
MATCH_EVENT_TYPES = frozenset({FIXTURE, GOAL, KEPT, DROPPED})
GOAL_EVENT_TYPES = MATCH_EVENT_TYPES - {FIXTURE}
WHAT = {FIXTURE: "changed", KEPT: "video_kept", DROPPED: "video_dropped"}


@strawberry.type(description="A change of a match, of one of its goals, or of a video of a goal.")
class MatchEvent:
    cursor: str
    occurred_at: datetime
    match_id: strawberry.ID
    event_id: str | None = strawberry.field(description="The goal; null if the match itself changed.")
    generation: int | None
    what: str = strawberry.field(
        description="changed (the match); seen, stable, searching, searched, archived, complete, removed, moved "
        "(the goal); video_kept, video_dropped."
    )
    attempt: int | None
    outcome: str | None
    moved_to: str | None = strawberry.field(description="The goal that has its videos now.")
    artifact_hash: str | None
    replaced_by: str | None = strawberry.field(description="The better copy that replaced a dropped video.")
    revision: int


@strawberry.type
class MatchSubscriptions:
    @strawberry.subscription(
        description="What happens to matches, goals and their videos, in order. `cursor` is the position in the log: "
        "subscribe again with `after` to miss nothing. Without `after`, events start when the connection is opened."
    )
    async def live_matches(self, info: Info, after: str | None = None) -> AsyncGenerator[MatchEvent]:
        async for event, cursor in live_events(info, MATCH_EVENT_TYPES, after):
            yield match_event_of(event, cursor)


def match_event_of(event: LiveEvent, cursor: str) -> MatchEvent:
    data = event.data
    return MatchEvent(
        cursor=cursor,
        occurred_at=event.occurred_at,
        match_id=strawberry.ID(str(data["fixture_id"])),
        event_id=data.get("event_id"),
        generation=data.get("generation"),
        what=what(event),
        attempt=data.get("attempt"),
        outcome=data.get("outcome"),
        moved_to=data.get("moved_to"),
        artifact_hash=data.get("artifact_hash"),
        replaced_by=data.get("replaced_by"),
        revision=event.revision,
    )


def what(event: LiveEvent) -> str:
    return WHAT.get(event.type) or event.data["what"]
