"""The browser role over HTTP, with a real Chromium, on the world's network over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.support.world import PAPER, SHOP, clip, day_of, post, promoted, quoting, served, world_of
from touchline.kernel import ManualClock, Misconfigured, SystemClock
from touchline.watch.browser.app import build_app
from touchline.watch.browser.session import import_cookies
from touchline.watch.settings import BrowserSettings
from touchline_world.application import ACCOUNT, build_app as build_world
from touchline_world.days.model import Fault, Post, Service, Trouble

NOW = 60.5  # minutes of the day
MINUTE = 60_000
QUERY = "Sørensen Northport"


def written() -> dict[str, Post]:
    """By what is told of them in the tests."""
    words = "Sørensen for Northport"
    many = {f"words {number}": post(number, 50 + number / 10, f"{words}, {number}") for number in range(50)}
    named = {
        "old": post(1000, 30, f"{words}: too old", clip(1)),
        "one": post(1001, 56, f"{words} ⚽ #NFC", clip(1), author=PAPER),
        "two": post(1002, 57, f"{words}: both angles", clip(1), clip(2)),
        "long": post(1003, 58, f"{words} " + "and so on " * 40 + "to the end", clip(2)),
        "quoting": quoting(
            post(1004, 59, f"Look, {words}"), post(1005, 58.5, "The save of Ade", clip(2), author=PAPER)
        ),
        "known": post(1006, 59.5, f"{words}: seen before", clip(1)),
        "advert": promoted(post(1007, 10, f"{words} wears these", clip(4), author=SHOP)),
    }
    return many | named


@dataclass(frozen=True)
class Recovering:
    """A world whose first failed load of posts is the last moment of its trouble."""

    world: ASGIApp
    wall: ManualClock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def reported(message: Message) -> None:
            await send(message)
            if message.get("status") == 500:
                self.wall.advance(timedelta(minutes=1))

        await self.world(scope, receive, reported)


@dataclass(frozen=True)
class Role:
    client: httpx.AsyncClient
    wall: ManualClock
    network: str
    folder: Path

    async def search(self, query: str = QUERY, **more: Any) -> httpx.Response:
        return await self.client.post("/search", json={"search_query": query, "max_age_minutes": 20, **more})

    async def status(self) -> dict[str, Any]:
        return (await self.client.get("/status")).json()


@dataclass
class Limiting:
    """A world that has had enough of the calls by which its pages load posts, and says until when."""

    world: ASGIApp
    wall: ManualClock
    until: datetime | None = None
    calls: int = 0
    agents: set[str] = field(default_factory=set[str])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            self.agents.add(Headers(scope=scope).get("user-agent", ""))
        answer = self.world
        if scope["type"] == "http" and scope["path"].endswith("/i/api/search.json"):
            self.calls += 1
            if self.until and self.wall.now() < self.until:
                headers = {"x-rate-limit-reset": str(int(self.until.timestamp()))}
                answer = PlainTextResponse("Rate limit exceeded", 429, headers)
        await answer(scope, receive, send)


PROOF = {"Authorization": "Bearer open sesame"}


@asynccontextmanager
async def role(
    folder: Path, posts: Sequence[Post], faults: Sequence[Fault] = (), limiting: list[Limiting] | None = None,
    **settings: Any,
) -> AsyncGenerator[Role]:  # fmt: skip
    world, wall = world_of(day_of(posts, faults), folder, NOW)
    async with AsyncExitStack() as stack:
        served_world = Limiting(Recovering(build_world(world), wall), wall)
        if limiting is not None:
            limiting.append(served_world)
        url = await stack.enter_async_context(served(served_world))
        network = f"{url}/social"
        quick = {"quiet": timedelta(milliseconds=100), "asset_hosts": ()}
        account = {"user": ACCOUNT.user, "password": SecretStr(ACCOUNT.password), "token": SecretStr("open sesame")}
        given = BrowserSettings(**{"network_url": network, "query_filter": "", **quick, **account, **settings})
        app = build_app(given, folder / "session", wall)
        await stack.enter_async_context(app.router.lifespan_context(app))
        own = await stack.enter_async_context(served(app))
        client = await stack.enter_async_context(httpx.AsyncClient(base_url=own, timeout=60, headers=PROOF))
        yield Role(client, wall, network, folder / "session")


@pytest.fixture(scope="module")
async def small(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Role]:
    async with role(tmp_path_factory.mktemp("searched"), list(written().values())) as small:
        yield small


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Bearer open sesam"}, 401),
        ({"Authorization": "Basic b3BlbiBzZXNhbWU="}, 401),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 403),
    ],
)
async def test_nobody_searches_with_the_session_without_the_token(
    small: Role, headers: dict[str, str], status: int
) -> None:
    searched = await small.client.post("/search", json={"search_query": "anything"}, headers=headers)
    reported = await small.client.get("/status", headers=headers)
    assert (searched.status_code, reported.status_code) == (status, status)
    assert "login" not in reported.json()


async def test_whoever_has_no_token_learns_only_that_it_lives(small: Role) -> None:
    answers = {
        path: (await small.client.get(path, headers={"Authorization": ""})).status_code
        for path in ("/health", "/status", "/openapi.json", "/docs", "/redoc", "/metrics")
    }
    assert answers == {
        "/health": 200,
        "/status": 401,
        "/openapi.json": 404,
        "/docs": 404,
        "/redoc": 404,
        "/metrics": 404,
    }


async def test_without_a_token_the_role_does_not_begin(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="has no token"):
        build_app(BrowserSettings(), tmp_path, SystemClock())


def places(answer: httpx.Response) -> list[tuple[str, int, int]]:
    assert answer.status_code == 200, answer.text
    return [(each["post_id"], each["video_index"], each["video_count"]) for each in answer.json()["videos"]]


async def test_every_video_of_the_last_minutes(small: Role) -> None:
    posts = written()
    known = f"{small.network}/dockersfan/status/{posts['known'].id}?s=20"
    answer = await small.search(exclude_urls=[known, "nonsense"])
    quoted = posts["quoting"].quoted
    assert quoted is not None
    wanted = [(quoted.id, 1, 1), (posts["long"].id, 1, 1), (posts["two"].id, 1, 2), (posts["two"].id, 2, 2)]
    assert places(answer) == [*wanted, (posts["one"].id, 1, 1)]

    reported = answer.json()
    assert reported["videos"][-1] == {
        "url": f"{small.network}/northportecho/status/{posts['one'].id}",
        "post_id": posts["one"].id,
        "video_index": 1,
        "video_count": 1,
        "author": "northportecho",
        "text": posts["one"].text,
        "posted_at": "2026-03-14T12:56:00Z",
        "duration_s": 6,
    }
    assert reported["videos"][0]["author"] == "northportecho"
    assert reported["videos"][1]["text"] == posts["long"].text
    assert reported["oldest"] == "2026-03-14T12:30:00Z"
    assert reported["scrolled"] > 0
    assert reported["complete"] is True

    status = await small.status()
    assert (status["login"], status["running"], status["last_failure"]) == ("signed_in", True, None)
    assert status["last_success"] == "2026-03-14T13:00:30Z"
    assert (small.folder / "session.json").stat().st_mode & 0o777 == 0o600


async def test_it_stops_at_the_age_limit(small: Role) -> None:
    answer = await small.search(max_age_minutes=1.25)
    assert places(answer) == [(written()["known"].id, 1, 1)]
    assert answer.json()["scrolled"] == 0


async def test_nothing_found_is_no_error(small: Role) -> None:
    answer = await small.search("Nobody Nowhere")
    assert answer.json() == {"videos": [], "scrolled": 0, "oldest": None, "complete": True}


def kill_browser() -> None:
    """What the drivers of this process have started, and nothing else."""
    drivers = [each for each in psutil.Process().children() if "playwright" in " ".join(each.cmdline())]
    for browser in [child for driver in drivers for child in driver.children()]:
        browser.kill()


async def test_the_browser_is_killed_and_the_next_search_has_another(small: Role) -> None:
    await small.search("Nobody Nowhere")
    searching = asyncio.create_task(small.search())
    while not (await small.status())["searching"]:
        await asyncio.sleep(0)
    kill_browser()
    answer = await searching
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["reason"] == "browser_gone"
    assert (await small.status())["last_failure"]["reason"] == "browser_gone"
    assert (await small.search(max_age_minutes=1.25)).status_code == 200


async def test_who_is_signed_in(tmp_path: Path) -> None:
    """A wrong password, then somebody's cookies, which expire; each is told with what to do."""
    login = Fault(Service.SEARCH, Trouble.LOGIN, 61 * MINUTE, 10**9)
    async with role(tmp_path, list(written().values()), [login], password=SecretStr("onside")) as small:
        refused = await small.search()
        assert (refused.status_code, refused.json()["reason"]) == (503, "login_needed")
        assert refused.json()["detail"] == "the user or the password is wrong"
        assert "onside" not in refused.text
        assert (await small.status())["login"] == "refused"

        cookies = [{"domain": "127.0.0.1", "name": "auth_token", "value": ACCOUNT.token(), "httpOnly": True}]
        (tmp_path / "cookies.json").write_text(json.dumps(cookies))
        import_cookies(tmp_path / "cookies.json", small.folder, small.network)
        assert (await small.status())["login"] == "untried"
        assert (await small.search(max_age_minutes=2)).status_code == 200
        assert (await small.status())["login"] == "signed_in"

        small.wall.advance(timedelta(minutes=1))
        expired = await small.search()
        assert expired.status_code == 503
        assert "touchline watch login --cookies" in expired.json()["next"]
        assert (await small.status())["login"] == "refused"


async def test_troubles_of_the_network(tmp_path: Path) -> None:
    """One after the other."""
    troubles = [Trouble.ERRORS, None, Trouble.OUTAGE, Trouble.LIMITED, Trouble.EMPTY]
    faults = [
        Fault(Service.SEARCH, each, round((NOW + at) * MINUTE), round((NOW + at + 1) * MINUTE))
        for at, each in enumerate(troubles)
        if each
    ]
    posts = [post(1, 59.9, "Sørensen for Northport", clip(1))]
    async with role(tmp_path, posts, faults) as small:
        assert places(await small.search()) == [(posts[0].id, 1, 1)], "its button to try again is pressed"
        answers = list[httpx.Response]()
        for _ in troubles[2:]:
            small.wall.advance(timedelta(minutes=1))
            answers.append(await small.search())
        assert [each.status_code for each in answers] == [503, 429, 200]
        reasons = [each.json().get("reason") for each in answers]
        assert reasons == ["network_failed", "network_limited", None]
        assert answers[1].headers["retry-after"] == "1", "as the network says"


async def test_a_limit_of_the_pages_own_calls_is_kept_to(tmp_path: Path) -> None:
    """The page only says that it failed, and offers to try again. Nobody tries before the limit is over."""
    posts, network = [post(1, 59.9, "Sørensen for Northport", clip(1))], list[Limiting]()
    async with role(tmp_path, posts, limiting=network) as small:
        [limiting] = network
        await small.search("Nobody Nowhere")
        before = limiting.calls
        limiting.until = small.wall.now() + timedelta(minutes=5)
        limited = await small.search()
        assert (limited.status_code, limited.json()["reason"]) == (429, "network_limited")
        assert (limited.headers["retry-after"], limiting.calls) == ("300", before + 1)
        again = await small.search()
        assert (again.status_code, again.json()["reason"], limiting.calls) == (429, "network_limited", before + 1)
        assert (await small.status())["limited_until"] == "2026-03-14T13:05:30Z"

        small.wall.advance(timedelta(minutes=5))
        assert places(await small.search()) == [(posts[0].id, 1, 1)]
        assert (await small.status())["limited_until"] is None
        assert not any("Headless" in agent for agent in limiting.agents)


async def test_an_account_has_a_budget_of_searches(tmp_path: Path) -> None:
    """Which a restart does not renew."""
    posts, network = [post(1, 59.9, "Sørensen for Northport", clip(1))], list[Limiting]()
    mine = {"searches_per_window": 2, "user_agent": "Mozilla/5.0 (mine)", "limiting": network}
    async with role(tmp_path, posts, **mine) as small:
        assert [(await small.search()).status_code for _ in range(2)] == [200, 200]
        assert (await small.status())["searches_left"] == 0
        assert network[0].agents == {"Mozilla/5.0 (mine)"}
    async with role(tmp_path, posts, **mine) as small:
        small.wall.advance(timedelta(minutes=5))
        spent = await small.search()
        assert (spent.status_code, spent.json()["reason"]) == (429, "search_budget_spent")
        assert (spent.headers["retry-after"], network[1].calls) == ("600", 0)
        small.wall.advance(timedelta(minutes=10))
        assert (await small.search()).status_code == 200


async def test_a_window_needs_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    async with role(tmp_path, [], headed=True) as small:
        answer = await small.search()
        assert (answer.status_code, answer.json()["reason"]) == (500, "display_missing")
        assert "browser.headed" in answer.json()["next"]
        monkeypatch.setenv("DISPLAY", ":65000")
        nowhere = await small.search()
        assert (nowhere.status_code, nowhere.json()["reason"]) == (503, "browser_gone"), "it asks that display"


async def test_a_network_that_hangs_holds_up_one_search(tmp_path: Path) -> None:
    """Whose browser waits for nobody, and ends when nobody wants it."""
    hangs = Fault(Service.SEARCH, Trouble.HANGS, round(NOW * MINUTE), 10**9)
    brief = {"page_time": timedelta(seconds=3), "idle": timedelta(milliseconds=500), "most_waiting": 0, "at_once": 1}
    async with role(tmp_path, [], [hangs], **brief) as small:
        hanging = asyncio.create_task(small.search())
        while not (await small.status())["searching"]:
            await asyncio.sleep(0)
        refused = await small.search()
        assert (refused.status_code, refused.json()["reason"]) == (429, "too_many_searches")
        assert (await small.client.get("/health")).json() == {"status": "live"}
        assert (await hanging).json()["reason"] == "search_timed_out"

        while (await small.status())["running"]:
            await asyncio.sleep(0)
        assert (await small.client.post("/search", json={"search_query": ""})).status_code == 400


async def test_no_other_origin_is_visited(tmp_path: Path) -> None:
    """Neither another name, which does not exist for the browser, nor another port of the same one."""
    visited, targets = list[str](), list[str]()

    async def visit(request: Request) -> Response:
        visited.append(request.headers["host"])
        return HTMLResponse("<p>Elsewhere</p>")

    async def lead(request: Request) -> Response:
        return RedirectResponse(targets.pop())

    async with (
        served(Starlette(routes=[Route("/", visit)])) as elsewhere,
        served(Starlette(routes=[Route("/search", lead)])) as network,
    ):
        targets += [f"{elsewhere}/", elsewhere.replace("127.0.0.1", "localhost")]
        async with role(tmp_path, [], network_url=network) as small:
            answers = [(await small.search()).json() for _ in range(2)]
    assert [each["reason"] for each in answers] == ["network_failed"] * 2
    assert "ERR_NAME_NOT_RESOLVED" in answers[0]["detail"]
    assert answers[1]["title"] == "the network redirected to another site"
    assert not any("localhost" in each for each in visited)


async def test_what_is_missing_is_said(tmp_path: Path) -> None:
    async with role(tmp_path, [], chromium=tmp_path / "nothing") as small:
        answer = await small.search()
        assert (answer.status_code, answer.json()["reason"]) == (500, "chromium_missing")
        assert "apt-get install chromium" in answer.json()["next"]
