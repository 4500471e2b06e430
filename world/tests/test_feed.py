"""What the documentation of API-Football v3 says about its answers: names, nesting and types."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.support.days import KICK_OFF, a_day, goal, reported_ms
from tests.support.world import served
from touchline.kernel import ManualClock
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.days.model import Day, Fault, Service, Trouble
from touchline_world.days.truth import truth
from touchline_world.days.values import HOUR, MINUTE, SECOND
from touchline_world.feed.routes import FeedAccount, QuotaUsage, routes
from touchline_world.videos.model import Recipe
from touchline_world.world import DayClock, World

NUMBER, TEXT, FLAG = int, str, bool
MAYBE_NUMBER, MAYBE_TEXT, MAYBE_FLAG = (int, type(None)), (str, type(None)), (bool, type(None))
PAIR = {"home": MAYBE_NUMBER, "away": MAYBE_NUMBER}
TEAM = {"id": NUMBER, "name": TEXT, "logo": TEXT}
FIXTURE = {
    "fixture": {
        "id": NUMBER,
        "referee": MAYBE_TEXT,
        "timezone": TEXT,
        "date": TEXT,
        "timestamp": NUMBER,
        "periods": {"first": MAYBE_NUMBER, "second": MAYBE_NUMBER},
        "venue": {"id": NUMBER, "name": TEXT, "city": TEXT},
        "status": {"long": TEXT, "short": TEXT, "elapsed": MAYBE_NUMBER, "extra": MAYBE_NUMBER},
    },
    "league": {
        "id": NUMBER,
        "name": TEXT,
        "country": TEXT,
        "logo": TEXT,
        "flag": MAYBE_TEXT,
        "season": NUMBER,
        "round": TEXT,
        "standings": FLAG,
    },
    "teams": {"home": TEAM | {"winner": MAYBE_FLAG}, "away": TEAM | {"winner": MAYBE_FLAG}},
    "goals": PAIR,
    "score": {"halftime": PAIR, "fulltime": PAIR, "extratime": PAIR, "penalty": PAIR},
}
PERSON = {"id": MAYBE_NUMBER, "name": MAYBE_TEXT}
EVENT = {
    "time": {"elapsed": NUMBER, "extra": MAYBE_NUMBER},
    "team": TEAM,
    "player": PERSON,
    "assist": PERSON,
    "type": TEXT,
    "detail": TEXT,
    "comments": MAYBE_TEXT,
}
COLOURS = {"primary": TEXT, "number": TEXT, "border": TEXT}
LINE_UP_PLAYER = {"player": {"id": NUMBER, "name": TEXT, "number": NUMBER, "pos": TEXT, "grid": MAYBE_TEXT}}
LINE_UP = {
    "team": TEAM | {"colors": {"player": COLOURS, "goalkeeper": COLOURS}},
    "coach": {"id": NUMBER, "name": TEXT, "photo": MAYBE_TEXT},
    "formation": TEXT,
    "startXI": [LINE_UP_PLAYER],
    "substitutes": [LINE_UP_PLAYER],
}
STATISTICS = {"team": TEAM, "statistics": [{"type": TEXT, "value": (int, str, type(None))}]}
WHOLE_FIXTURE = FIXTURE | {"events": [EVENT], "lineups": [LINE_UP], "statistics": [STATISTICS], "players": []}
TEAM_INFORMATION = {
    "team": TEAM | {"code": TEXT, "country": TEXT, "founded": NUMBER, "national": FLAG},
    "venue": {
        "id": NUMBER,
        "name": TEXT,
        "address": TEXT,
        "city": TEXT,
        "capacity": NUMBER,
        "surface": TEXT,
        "image": TEXT,
    },
}
COVERAGE = {
    "fixtures": {"events": FLAG, "lineups": FLAG, "statistics_fixtures": FLAG, "statistics_players": FLAG},
    "standings": FLAG,
    "players": FLAG,
    "top_scorers": FLAG,
    "top_assists": FLAG,
    "top_cards": FLAG,
    "injuries": FLAG,
    "predictions": FLAG,
    "odds": FLAG,
}
LEAGUE = {
    "league": {"id": NUMBER, "name": TEXT, "type": TEXT, "logo": TEXT},
    "country": {"name": TEXT, "code": MAYBE_TEXT, "flag": MAYBE_TEXT},
    "seasons": [{"year": NUMBER, "start": TEXT, "end": TEXT, "current": FLAG, "coverage": COVERAGE}],
}
STATUS = {
    "account": {"firstname": TEXT, "lastname": TEXT, "email": TEXT},
    "subscription": {"plan": TEXT, "end": TEXT, "active": FLAG},
    "requests": {"current": NUMBER, "limit_day": NUMBER},
}


def check(document: Any, shape: Any, where: str = "response") -> None:
    """Every field there, none more, each of its type."""
    if isinstance(shape, dict):
        assert sorted(document) == sorted(shape), where
        for name, inner in shape.items():
            check(document[name], inner, f"{where}.{name}")
    elif isinstance(shape, list):
        assert isinstance(document, list), where
        assert not shape or document, f"{where} is empty"
        for number, each in enumerate(document):
            check(each, shape[0], f"{where}[{number}]")
    else:
        assert isinstance(document, shape), where
        assert shape is not int or not isinstance(document, bool), where


STARTS = datetime(2026, 11, 14, tzinfo=UTC)  # on the wall; the script says another date
ACCOUNT = FeedAccount("the-key", requests_a_day=1_000, requests_a_minute=100)
HARROWMERE, KINGSFOLD, MATCH = 70101, 70102, 9_070_101


class NoVideos:
    async def file(self, recipe: Recipe) -> Path:
        raise AssertionError("the feed has no videos")


class Client:
    """Somebody who asks the feed, at a moment of the day that the test chooses."""

    def __init__(self, http: httpx.AsyncClient, clock: ManualClock, world: World) -> None:
        self.http = http
        self._clock = clock
        self.world = world

    def at(self, day_ms: int) -> Client:
        self._clock.advance(self.world.clock.at(day_ms) - self._clock.now())
        return self

    async def get(self, path: str, **parameters: Any) -> dict[str, Any]:
        answer = await self.http.get(path, params=parameters)
        assert answer.status_code == 200
        document = answer.json()
        assert list(document) == ["get", "parameters", "errors", "results", "paging", "response"]
        assert document["get"] == path
        assert document["parameters"] == ({name: str(value) for name, value in parameters.items()} or [])
        assert document["paging"] == {"current": 1, "total": 1}
        return document

    async def response(self, path: str, **parameters: Any) -> Any:
        document = await self.get(path, **parameters)
        assert document["errors"] == []
        if isinstance(document["response"], list):
            assert document["results"] == len(document["response"])
        return document["response"]

    async def errors(self, path: str, **parameters: Any) -> dict[str, str]:
        document = await self.get(path, **parameters)
        assert (document["results"], document["response"]) == (0, [])
        return document["errors"]


FAULTS = {trouble: 20 * HOUR + number * MINUTE for number, trouble in enumerate(Trouble)}  # each has its minute


@pytest.fixture(scope="module")
def day() -> Day:
    played = a_day(
        goal(10, player="Sørensen", scorer_after="60s"),
        {"kind": "yellow_card", "minute": 12, "side": "away"},
        goal(80, "away", kind="own_goal"),
    )
    faults = [Fault(Service.FEED, trouble, starts, starts + MINUTE // 2) for trouble, starts in FAULTS.items()]
    return replace(played, faults=tuple(faults))


@pytest.fixture(scope="module")
async def feed(day: Day) -> AsyncIterator[Client]:
    async for each in connected(day):
        yield each


@pytest.fixture
def client(feed: Client) -> Client:
    return feed.at(0)


async def connected(day: Day, speed: float = 1.0, account: FeedAccount = ACCOUNT) -> AsyncIterator[Client]:
    clock = ManualClock(STARTS)
    world = World(day, DayClock(clock, STARTS, speed), NoVideos())
    app = Starlette(routes=[Mount("/football", routes=routes(world, account, QuotaUsage()))])
    async with (
        served(app) as url,
        httpx.AsyncClient(base_url=f"{url}/football/", headers={"x-apisports-key": account.key}) as http,
    ):
        yield Client(http, clock, world)


@pytest.mark.parametrize(
    ("path", "parameters", "shape"),
    [
        ("fixtures", {"date": "2026-11-14"}, [FIXTURE]),
        ("fixtures", {"league": 39, "season": 2026}, [FIXTURE]),
        ("fixtures", {"team": HARROWMERE}, [FIXTURE]),
        ("fixtures", {"live": "all"}, [FIXTURE | {"events": [EVENT]}]),
        ("fixtures", {"live": "39-61"}, [FIXTURE | {"events": [EVENT]}]),
        ("fixtures", {"id": MATCH}, [WHOLE_FIXTURE]),
        ("fixtures", {"ids": f"{MATCH}-1-2"}, [WHOLE_FIXTURE]),
        ("fixtures/events", {"fixture": MATCH}, [EVENT]),
        ("teams", {"id": HARROWMERE}, [TEAM_INFORMATION]),
        ("teams", {"league": 39, "season": 2026}, [TEAM_INFORMATION]),
        ("leagues", {"id": 39}, [LEAGUE]),
        ("leagues", {}, [LEAGUE]),
        ("status", {}, STATUS),
    ],
)
async def test_the_documents_are_as_documented(
    client: Client, path: str, parameters: dict[str, Any], shape: Any
) -> None:
    check(await client.at(reported_ms(20)).response(path, **parameters), shape)


async def test_a_match_from_first_to_last(client: Client) -> None:
    async def state(day_ms: int) -> tuple[Any, ...]:
        [match] = await client.at(day_ms).response("fixtures", id=MATCH)
        status = match["fixture"]["status"]
        scorers = [each["player"]["name"] for each in match["events"] if each["type"] == "Goal"]
        return status["short"], status["long"], match["goals"]["home"], match["goals"]["away"], scorers

    assert await state(KICK_OFF - HOUR) == ("NS", "Not Started", None, None, [])
    assert await state(KICK_OFF) == ("1H", "First Half", 0, 0, [])
    assert await state(reported_ms(10)) == ("1H", "First Half", 1, 0, [None])
    assert await state(reported_ms(10) + MINUTE) == ("1H", "First Half", 1, 0, ["M. Sørensen"])
    assert await state(KICK_OFF + 50 * MINUTE) == ("HT", "Halftime", 1, 0, ["M. Sørensen"])
    ended = await state(KICK_OFF + 2 * HOUR)
    assert ended[:4] == ("FT", "Match Finished", 1, 1)
    [match] = await client.response("fixtures", id=MATCH)
    assert match["score"]["halftime"] == {"home": 1, "away": 0}
    assert match["score"]["fulltime"] == {"home": 1, "away": 1}
    assert match["teams"]["home"]["winner"] is None
    own_goal = match["events"][-1]
    assert (own_goal["detail"], own_goal["team"]["id"]) == ("Own Goal", KINGSFOLD)


async def test_an_unknown_scorer_is_null(client: Client) -> None:
    [event] = await client.at(reported_ms(10)).response("fixtures/events", fixture=MATCH)
    assert event["player"] == {"id": None, "name": None}
    assert event["time"] == {"elapsed": 10, "extra": None}


async def test_line_ups_come_before_the_match(client: Client) -> None:
    [early] = await client.at(KICK_OFF - HOUR).response("fixtures", id=MATCH)
    [late] = await client.at(KICK_OFF - 30 * MINUTE).response("fixtures", id=MATCH)
    assert early["lineups"] == []
    assert [len(each["startXI"]) for each in late["lineups"]] == [11, 11]


async def test_dates_are_the_walls_at_any_speed(day: Day) -> None:
    """At speed 10 a match of 15:00 begins an hour and a half after the day did."""
    async for client in connected(day, speed=10):
        [match] = await client.at(KICK_OFF).response("fixtures", date="2026-11-14")
        assert match["fixture"]["date"] == "2026-11-14T01:30:00+00:00"
        assert match["fixture"]["timestamp"] == int((STARTS + timedelta(minutes=90)).timestamp())
        assert match["fixture"]["periods"] == {"first": match["fixture"]["timestamp"], "second": None}
        assert match["fixture"]["status"]["elapsed"] == 1
        assert await client.response("fixtures", date="2026-11-15") == []


async def test_the_date_of_a_match_at_midnight_is_the_day_it_says() -> None:
    async for client in connected(a_day(kick_off="24:00")):
        assert await client.response("fixtures", date="2026-11-14") == []
        assert len(await client.response("fixtures", date="2026-11-15")) == 1


async def test_more_than_twenty_ids_answer_nothing(client: Client) -> None:
    ids = [MATCH, *range(1, 20)]
    assert len(await client.response("fixtures", ids="-".join(map(str, ids)))) == 1
    assert await client.response("fixtures", ids="-".join(map(str, [*ids, 20]))) == []


async def test_the_season_is_the_walls(client: Client) -> None:
    [league] = await client.response("leagues", id=39)
    assert [(each["year"], each["current"]) for each in league["seasons"]] == [(2026, True)]
    assert await client.response("teams", league=39, season=2025) == []
    assert {each["team"]["id"] for each in await client.response("teams", league=39, season=2026)} >= {
        HARROWMERE,
        KINGSFOLD,
    }


async def test_who_is_a_nation(client: Client) -> None:
    [mali] = await client.response("teams", id=1500)
    assert (mali["team"]["national"], mali["team"]["country"]) == (True, "Mali")
    [club] = await client.response("teams", id=HARROWMERE)
    assert (club["team"]["national"], club["venue"]["city"]) == (False, "Harrowmere")


@pytest.mark.parametrize(
    ("path", "parameters", "field"),
    [
        ("fixtures", {}, "required"),
        ("fixtures", {"page": 2}, "page"),
        ("fixtures", {"ids": "1,2"}, "ids"),
        ("fixtures", {"id": "one"}, "id"),
        ("fixtures", {"date": "14.11.2026"}, "date"),
        ("fixtures", {"league": 39}, "season"),
        ("fixtures/events", {}, "fixture"),
        ("teams", {"league": 39}, "season"),
        ("teams", {}, "required"),
        ("leagues", {"id": "PL"}, "id"),
        ("odds/live", {"fixture": MATCH}, "endpoint"),
    ],
)
async def test_wrong_questions_are_errors_with_http_200(
    client: Client, path: str, parameters: dict[str, Any], field: str
) -> None:
    assert field in await client.errors(path, **parameters)


@pytest.mark.parametrize("key", ["", "another"])
async def test_a_wrong_key(client: Client, key: str) -> None:
    for path in ("leagues", "status"):
        answer = await client.http.get(path, headers={"x-apisports-key": key})
        assert (answer.status_code, answer.json()["response"]) == (200, [])
        assert "token" in answer.json()["errors"]


async def test_the_budget_of_the_day(day: Day) -> None:
    async for client in connected(day, account=replace(ACCOUNT, requests_a_day=2)):
        answers = [await client.http.get("leagues") for _ in range(2)]
        remaining = [each.headers["x-ratelimit-requests-remaining"] for each in answers]
        assert (remaining, answers[0].headers["x-ratelimit-requests-limit"]) == (["1", "0"], "2")
        assert "requests" in await client.errors("leagues")
        assert (await client.response("status"))["requests"] == {"current": 2, "limit_day": 2}
        client.at(24 * HOUR)
        assert len(await client.response("leagues", id=39)) == 1


async def test_the_budget_of_the_minute(day: Day) -> None:
    async for client in connected(day, account=replace(ACCOUNT, requests_a_minute=2)):
        answers = [await client.http.get("leagues") for _ in range(3)]
        assert [each.status_code for each in answers] == [200, 200, 429]
        assert [each.headers["X-RateLimit-Remaining"] for each in answers] == ["1", "0", "0"]
        assert "rateLimit" in answers[2].json()["errors"]
        client.at(MINUTE)
        assert (await client.http.get("leagues")).status_code == 200


@pytest.mark.parametrize(("trouble", "status"), [(Trouble.OUTAGE, 503), (Trouble.LIMITED, 429)])
async def test_an_outage(client: Client, trouble: Trouble, status: int) -> None:
    starts = FAULTS[trouble]
    assert (await client.at(starts - SECOND).http.get("leagues")).status_code == 200
    assert (await client.at(starts).http.get("leagues")).status_code == status
    assert (await client.at(starts + MINUTE // 2).http.get("leagues")).status_code == 200


async def test_errors_of_its_own_and_empty_answers(client: Client) -> None:
    assert (await client.at(FAULTS[Trouble.ERRORS]).errors("fixtures", id=MATCH))["report"] == "fixtures"
    assert "bug" in await client.errors("status")
    assert await client.at(FAULTS[Trouble.EMPTY]).response("fixtures", id=MATCH) == []


async def test_a_feed_that_hangs_or_breaks(client: Client) -> None:
    with pytest.raises(httpx.ReadTimeout):
        await client.at(FAULTS[Trouble.HANGS]).http.get("leagues", timeout=0.2)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.at(FAULTS[Trouble.RESETS]).http.get("leagues")


def goals_told(match: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Without the shoot-out, whose entries have a comment."""
    goals = [each for each in match["events"] if each["type"] == "Goal" and each["comments"] is None]
    return [
        (each["team"]["id"], each["player"]["id"], each["detail"], each["time"]["elapsed"], each["time"]["extra"])
        for each in goals
        if each["detail"] != "Missed Penalty"
    ]


async def test_a_days_truth_is_what_the_feed_shows() -> None:
    day = build(generate(GeneratorOptions(7, matches=6, troubled=1)))
    expected = truth(day)
    async for client in connected(day):
        ids = "-".join(str(each["id"]) for each in expected["matches"])
        matches = await client.at(day.length_ms).response("fixtures", ids=ids)
        for match, true in zip(matches, expected["matches"], strict=True):
            assert match["fixture"]["status"]["short"] == true["status"]
            assert (None if match["goals"]["home"] is None else [*match["goals"].values()]) == true["score"]
            assert goals_told(match) == [
                (each["team"], each["player"]["id"], each["detail"], each["elapsed"], each["extra"])
                for each in expected["goals"]
                if each["match"] == true["id"] and each["outcome"] == "stands"
            ]
