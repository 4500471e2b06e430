"""The world as a whole, over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.support.world import FIXTURE, TinyVideos, day_of, served, world_of
from touchline.kernel import ManualClock, SetupError
from touchline_world.application import Credentials, build_app
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.days.model import Day, Fault, Service, Trouble
from touchline_world.overview.routes import SERVICES, base_urls
from touchline_world.server import ServerOptions, WorldServer, day_clock
from touchline_world.world import DayClock, World

from .conftest import Small

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("speed", [0.5, 1, 20])
def test_the_first_match_kicks_off_when_it_is_told_to(speed: float) -> None:
    plan = ServerOptions(day_of([]), Path(), speed, starts_in=timedelta(minutes=2))
    clock = day_clock(plan, ManualClock(NOW))
    assert clock.at(FIXTURE.kick_off_ms) == NOW + timedelta(minutes=2)
    clock = day_clock(plan, ManualClock(NOW + timedelta(minutes=2)))
    assert clock.day_ms() < FIXTURE.kick_off_ms


@pytest.mark.parametrize("moment", [datetime(2026, 11, 15, 12, 0), datetime.fromisoformat("2026-11-15T13:00:00+01:00")])  # noqa: DTZ001
def test_a_fixed_moment_wins_and_is_utc_unless_it_says_otherwise(moment: datetime) -> None:
    clock = day_clock(ServerOptions(day_of([]), Path(), 4, starts_at=moment), ManualClock(NOW))
    assert clock.at(FIXTURE.kick_off_ms) == datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


def test_serving_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "touchline", "world", "serve", "--seed", "3", "--matches", "1", "--no-prepare"]
    options = ["--starts-at", "2026-03-14T15:00:00Z", "--port", "0", "--folder", str(tmp_path), "--json"]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        told = json.loads(_document(process))
        answer = httpx.get(f"{told['base_urls']['football']}/status", headers={"x-apisports-key": "world"}, timeout=60)
        assert answer.json()["errors"] in ([], {})
        assert httpx.get(told["url"], timeout=60).status_code == 200
        assert told["access"]["Network user"] == "touchline"
    finally:
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "kicks off at 15:00:00 UTC" in errors


def _document(process: subprocess.Popen[str]) -> str:
    """Up to the end of the one document that it writes."""
    assert process.stdout is not None
    lines = list[str]()
    for line in process.stdout:
        lines.append(line)
        if line.rstrip() == "}":
            break
    return "".join(lines)


async def test_a_port_that_is_taken(tmp_path: Path) -> None:
    world, _ = world_of(day_of([]), tmp_path)
    async with WorldServer(build_app(world)) as serving:
        with pytest.raises(SetupError, match="cannot listen"):
            WorldServer(build_app(world), int(serving.url.rpartition(":")[2]))
    async with WorldServer(build_app(world), int(serving.url.rpartition(":")[2])) as again:
        assert again.url == serving.url, "the port is free again"


STARTS = datetime(2026, 3, 14, tzinfo=UTC)
KEYS = {"x-apisports-key": "world", "Authorization": "Bearer sk-world", "Host": "localhost"}


async def test_the_day_as_the_feed_tells_it(small: Small) -> None:
    told = (await small.client.get("/world/day")).json()
    (match,) = told["matches"]
    assert (match["status"], match["minute"], match["score"]) == ("1H", "31'", [1, 0])
    assert match["home"] == {"id": 40, "name": "Northport", "code": "NOR", "shirt": "#c81e28"}
    assert told["clock"] == (await small.client.get("/world/clock")).json()
    assert told["clock"]["now"] == "2026-03-14T13:00:30.000Z"
    assert told["base_urls"] == base_urls(small.url)
    assert told["troubles"] == []


async def test_the_truth(small: Small) -> None:
    told = (await small.client.get("/world/truth")).json()
    assert [goal["key"] for goal in told["goals"]] == ["9000001/1"]
    assert {post["id"] for post in told["posts"]} == {post.id for post in small.posts.values()}


async def test_the_start_page_says_where_everything_is(small: Small) -> None:
    page = await small.client.get("/")
    for service in SERVICES:
        assert f"{small.url}{service.path}" in page.text
    for secret in Credentials().by_name().values():
        assert f"<code>{secret}</code>" in page.text
    assert "Northport" in page.text


async def test_troubles_are_shown(tmp_path: Path) -> None:
    day = day_of([], [Fault(Service.MODEL, Trouble.ODD, 0, 10**8)])
    world, _ = world_of(day, tmp_path)
    transport = httpx.ASGITransport(build_app(world))
    async with httpx.AsyncClient(transport=transport, base_url="http://world.invalid") as client:
        assert "<b>model</b> odd until" in (await client.get("/")).text


async def test_two_servers_with_one_seed_say_the_same(tmp_path: Path) -> None:
    """Of a generated day, at two moments of it, byte for byte; videos are another test's matter."""
    first, second = [await _everything(tmp_path) for _ in range(2)]
    assert first == second
    assert {status for told in first for status, _ in told.values()} == {200}
    assert first[0] != first[1]


async def _everything(folder: Path) -> list[dict[str, tuple[int, bytes]]]:
    day = build(generate(GeneratorOptions(seed=11, matches=2, troubled=0)))
    wall = ManualClock(STARTS + timedelta(minutes=955))
    async with served(build_app(World(day, DayClock(wall, STARTS), TinyVideos(folder)))) as url:
        before = await _answers(day, url)
        wall.advance(timedelta(minutes=45))
        return [before, await _answers(day, url)]


async def _answers(day: Day, url: str) -> dict[str, tuple[int, bytes]]:
    post = next(each for each in day.posts if each.clips)
    fixtures = "-".join(str(each.id) for each in day.fixtures)
    team = day.fixtures[0].home
    paths = [
        "/",
        "/world/day",
        "/world/truth",
        f"/football/fixtures?ids={fixtures}",
        f"/social/i/api/search.json?q=filter:videos+OR+{team.words[0]}&f=live",
        f"/social/i/api/posts/{post.id}.json",
        f"/syndication/tweet-result?id={post.id}&token=a",
        f"/wikidata/w/api.php?action=wbsearchentities&search={team.words[0]}&language=en&format=json",
        f"/wikidata/w/api.php?action=wbgetentities&ids={team.item}&format=json",
        "/model/v1/models",
    ]
    cookies = {"auth_token": Credentials().account.token()}
    async with httpx.AsyncClient(base_url=url, headers=KEYS, cookies=cookies) as client:
        answers = {path: await client.get(path) for path in paths}
        chat = {"model": "m", "messages": [{"role": "user", "content": f"Which of these: {', '.join(team.words)}"}]}
        answers["chat"] = await client.post("/model/v1/chat/completions", json=chat)
    return {path: (answer.status_code, answer.content) for path, answer in answers.items()}
