"""What may be asked of each endpoint, and what the feed answers to the rest: an error with HTTP 200."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from touchline_world.days.model import Fixture, Service, Trouble
from touchline_world.days.timeline import feed_state
from touchline_world.http import fault_response
from touchline_world.world import World

from .documents import Moment, envelope, event_document, fixture_document, is_live, league_document, team_with_venue

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


def parameter_errors(endpoint: str, given: Mapping[str, str]) -> dict[str, str]:
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


@dataclass(frozen=True, slots=True)
class FeedAccount:
    """Whoever pays for the feed."""

    key: str = "world"
    requests_a_day: int = 75_000
    requests_a_minute: int = 450


@dataclass(slots=True)
class QuotaUsage:
    """Counted by the wall's days and minutes, in UTC."""

    day: date = date.min
    today: int = 0
    minute: datetime | None = field(default=None)
    this_minute: int = 0

    def turn_to(self, now: datetime) -> None:
        minute = now.replace(second=0, microsecond=0)
        if now.date() != self.day:
            self.day, self.today = now.date(), 0
        if minute != self.minute:
            self.minute, self.this_minute = minute, 0

    def spend(self) -> None:
        self.today += 1
        self.this_minute += 1

    def headers(self, account: FeedAccount) -> dict[str, str]:
        return {
            "x-ratelimit-requests-limit": str(account.requests_a_day),
            "x-ratelimit-requests-remaining": str(max(account.requests_a_day - self.today, 0)),
            "X-RateLimit-Limit": str(account.requests_a_minute),
            "X-RateLimit-Remaining": str(max(account.requests_a_minute - self.this_minute, 0)),
        }


MOST_IDS = 20
Answer: TypeAlias = Callable[[Moment, dict[str, str]], list[dict[str, Any]]]


def routes(world: World, account: FeedAccount | None = None, spent: QuotaUsage | None = None) -> list[BaseRoute]:
    feed = Feed(world, account or FeedAccount(), spent or QuotaUsage())
    return [
        *(Route(f"/{name}", feed.endpoint(name, answer)) for name, answer in ANSWERS.items()),
        Route("/status", feed.status),
        Route("/{unknown:path}", feed.unknown),
    ]


class Feed:
    def __init__(self, world: World, account: FeedAccount, spent: QuotaUsage) -> None:
        self._world = world
        self._account = account
        self._spent = spent

    def endpoint(self, name: str, answer: Answer) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            parameters = dict(request.query_params)
            refusal = self._refusal(request, name, parameters)
            if refusal is not None:
                return refusal
            self._spent.spend()
            errors = parameter_errors(name, parameters)
            return self._answer(name, parameters, [] if errors else answer(self._moment(), parameters), errors)

        return respond

    async def status(self, request: Request) -> Response:
        """The one question that costs nothing."""
        refusal = self._troubled("status", {}) or self._refused_key(request, "status", {})
        if refusal is not None:
            return refusal
        account = {"firstname": "World", "lastname": "Touchline", "email": "world@touchline.invalid"}
        subscription = {"plan": "Ultra", "end": "2099-12-31T00:00:00+00:00", "active": True}
        requests = {"current": self._spent.today, "limit_day": self._account.requests_a_day}
        return self._answer("status", {}, {"account": account, "subscription": subscription, "requests": requests})

    async def unknown(self, request: Request) -> Response:
        name = request.path_params["unknown"]
        return self._answer(name, dict(request.query_params), [], {"endpoint": "This endpoint do not exist."})

    def _refusal(self, request: Request, name: str, parameters: dict[str, str]) -> Response | None:
        """Troubles first: a service that is down does not ask for a key."""
        return (
            self._troubled(name, parameters)
            or self._refused_key(request, name, parameters)
            or self._out_of_budget(name, parameters)
        )

    def _troubled(self, name: str, parameters: dict[str, str]) -> Response | None:
        self._spent.turn_to(self._now())
        match fault_response(self._world, Service.FEED):
            case Response() as answer:
                return answer
            case Trouble.ERRORS:
                return self._answer(name, parameters, [], self._our_bug(name))
            case Trouble.EMPTY:
                return self._answer(name, parameters, [])
            case _:
                return None

    def _refused_key(self, request: Request, name: str, parameters: dict[str, str]) -> Response | None:
        if request.headers.get("x-apisports-key") == self._account.key:
            return None
        return self._answer(name, parameters, [], {"token": "Error/Missing application key."})

    def _out_of_budget(self, name: str, parameters: dict[str, str]) -> Response | None:
        if self._spent.this_minute >= self._account.requests_a_minute:
            limit = self._account.requests_a_minute
            said = {"rateLimit": f"Too many requests. Your rate limit is {limit} requests per minute."}
            return self._answer(name, parameters, [], said, status_code=429)
        if self._spent.today >= self._account.requests_a_day:
            return self._answer(name, parameters, [], {"requests": "You have reached the request limit for the day."})
        return None

    def _our_bug(self, name: str) -> dict[str, str]:
        said = "This is on our side, please report us this bug."
        return {"time": self._now().replace(microsecond=0).isoformat(), "bug": said, "report": name}

    def _answer(
        self,
        name: str,
        parameters: dict[str, str],
        response: list[dict[str, Any]] | dict[str, Any],
        errors: dict[str, str] | None = None,
        status_code: int = 200,
    ) -> Response:
        document = envelope(name, parameters, response, errors)
        return JSONResponse(document, status_code, self._spent.headers(self._account))

    def _now(self) -> datetime:
        return self._world.clock.wall.now().astimezone(UTC)

    def _moment(self) -> Moment:
        return Moment(self._world.day, self._world.clock, self._world.clock.day_ms())


def fixtures(moment: Moment, asked: dict[str, str]) -> list[dict[str, Any]]:
    """By id there is everything, live ones come with their events, the rest without."""
    if len(asked.get("ids", "").split("-")) > MOST_IDS:
        return []
    has_all, has_events = bool({"id", "ids"} & set(asked)), "live" in asked
    chosen = [fixture for fixture in moment.day.fixtures if _fits(moment, fixture, asked)]
    return [fixture_document(moment, each, with_events=has_events, with_all=has_all) for each in chosen]


def _fits(moment: Moment, fixture: Fixture, asked: dict[str, str]) -> bool:
    played = moment.date_of(fixture).isoformat()
    fits: dict[str, Callable[[str], bool]] = {
        "id": lambda value: fixture.id == int(value),
        "ids": lambda value: str(fixture.id) in value.split("-"),
        "live": lambda value: (
            is_live(fixture, moment.now_ms) and (value == "all" or str(fixture.league.id) in value.split("-"))
        ),
        "date": lambda value: played == value,
        "from": lambda value: played >= value,
        "to": lambda value: played <= value,
        "league": lambda value: fixture.league.id == int(value),
        "season": lambda value: moment.season == int(value),
        "team": lambda value: int(value) in (fixture.home.id, fixture.away.id),
        "status": lambda value: feed_state(fixture, moment.now_ms).status in value.split("-"),
        "timezone": lambda value: True,
    }
    return all(fits[name](value) for name, value in asked.items())


def events(moment: Moment, asked: dict[str, str]) -> list[dict[str, Any]]:
    fixture = next((each for each in moment.day.fixtures if each.id == int(asked["fixture"])), None)
    if fixture is None:
        return []
    return [
        event_document(fixture, entry)
        for entry in feed_state(fixture, moment.now_ms).entries
        if asked.get("team") in (None, str(entry.team_id))
        and asked.get("player") in (None, str(entry.player.id) if entry.player else "")
        and asked.get("type", entry.type).casefold() == entry.type.casefold()
    ]


def teams(moment: Moment, asked: dict[str, str]) -> list[dict[str, Any]]:
    if asked.get("season") not in (None, str(moment.season)):
        return []
    return [
        team_with_venue(team)
        for league, team in moment.day.teams
        if asked.get("id") in (None, str(team.id))
        and asked.get("league") in (None, str(league))
        and asked.get("name", team.name).casefold() == team.name.casefold()
    ]


def leagues(moment: Moment, asked: dict[str, str]) -> list[dict[str, Any]]:
    """Only the season of the day is known, and it is the current one."""
    return [
        league_document(moment, league)
        for league in moment.day.leagues
        if asked.get("id") in (None, str(league.id))
        and asked.get("season") in (None, str(moment.season))
        and asked.get("current", "true") == "true"
    ]


ANSWERS: dict[str, Answer] = {
    "fixtures": fixtures,
    "fixtures/events": events,
    "teams": teams,
    "leagues": leagues,
}
