"""All services together: one start page, and the same bytes from two servers with one seed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from tests.integration.world.conftest import Small
from tests.support.world import TinyVideos, day_of, served, world_of
from touchline.kernel.clock import ManualClock
from touchline.world.application import Access, build_app
from touchline.world.clock import DayClock
from touchline.world.context import World
from touchline.world.days.building import build
from touchline.world.days.generating import Knobs, generate
from touchline.world.days.model import Day, Fault, Service, Trouble
from touchline.world.overview.services import SERVICES, base_urls

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
    for secret in Access().told().values():
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
    day = build(generate(Knobs(seed=11, matches=2, troubled=0)))
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
    cookies = {"auth_token": Access().account.token()}
    async with httpx.AsyncClient(base_url=url, headers=KEYS, cookies=cookies) as client:
        answers = {path: await client.get(path) for path in paths}
        chat = {"model": "m", "messages": [{"role": "user", "content": f"Which of these: {', '.join(team.words)}"}]}
        answers["chat"] = await client.post("/model/v1/chat/completions", json=chat)
    return {path: (answer.status_code, answer.content) for path, answer in answers.items()}
