"""The search page as a browser meets it: sign in, scroll to the end, see every post once."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.e2e.browser import FLAGS, Visit, find_chromium
from tests.support.world import day_of, post, served, world_of
from touchline_world.application import build_app
from touchline_world.days.model import Fault, Service, Trouble

from .conftest import HOSTILE, Small

SEARCH = "/social/search?q=s%C3%B8rensen+northport&f=live"
API = "/social/i/api/search.json"
ARTICLES = """
() => [...document.querySelectorAll('article[data-testid="tweet"]')].map((article) => ({
  link: article.querySelector('[data-testid="User-Name"] time')?.closest("a").getAttribute("href") ?? null,
  moment: article.querySelector("time")?.getAttribute("datetime") ?? null,
  age: article.querySelector("time")?.textContent ?? null,
  name: article.querySelector('[data-testid="User-Name"]').textContent,
  text: article.querySelector('[data-testid="tweetText"]').textContent,
  language: article.querySelector('[data-testid="tweetText"]').lang,
  videos: article.querySelectorAll('[data-testid="videoPlayer"]').length,
  links: [...article.querySelectorAll('a[href*="/status/"]')].map((link) => link.getAttribute("href")),
  advert: article.closest('[data-testid="placementTracking"]') !== null,
  label: article.querySelector(".advert")?.textContent ?? null,
  more: article.querySelector('[data-testid="tweet-text-show-more-link"]') !== null,
}))
"""
AT_END = (
    "() => innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && !document.querySelector('.spinner')"
)
STEP = """
async () => {
  scrollBy(0, innerHeight * 0.8);
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}
"""


@pytest.fixture(scope="module")
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def page(chromium: Browser, small: Small) -> AsyncGenerator[Page]:
    context = await chromium.new_context(base_url=small.url, viewport={"width": 900, "height": 800})
    page = await context.new_page()
    visit = Visit(page)
    yield page
    await context.close()
    assert visit.complaints == []


async def sign_in(page: Page) -> None:
    await page.get_by_label("Username").fill("touchline")
    await page.get_by_label("Password").fill("offside")
    await page.get_by_test_id("LoginForm_Login_Button").click()


async def read_all(page: Page) -> list[dict[str, Any]]:
    """In the order in which they are seen, each once."""
    seen = dict[str, dict[str, Any]]()
    while True:
        for article in await page.evaluate(ARTICLES):
            seen.setdefault(article["link"] or article["text"], article)
        if await page.evaluate(AT_END):
            return list(seen.values())
        await page.evaluate(STEP)


async def test_signing_in_and_scrolling_to_the_end(page: Page, small: Small) -> None:
    await page.goto(SEARCH)
    assert "/i/flow/login" in page.url
    await sign_in(page)
    await page.locator("article").first.wait_for()
    assert page.url.endswith(quote(SEARCH, safe="/?=&+%"))
    seen = await read_all(page)

    adverts = [each for each in seen if each["advert"]]
    assert sorted(each["text"] for each in adverts) == ["Adeyemi wears these", "Boots for everybody"]
    assert {(each["label"], each["link"], each["moment"]) for each in adverts} == {("Ad", None, None)}

    posts = {each["link"].rpartition("/")[2]: each for each in seen if not each["advert"]}
    wanted = [small.posts[name] for name in [*(f"many {n}" for n in range(45)), "hostile", "long", "quoting"]]
    assert list(posts) == [each.id for each in sorted(wanted, key=lambda each: each.at_ms, reverse=True)]
    assert len(await page.query_selector_all("article")) < 30, "what is far above is removed again"

    quoting = posts[small.posts["quoting"].id]
    quoted = small.posts["quoting"].quoted
    assert quoted is not None
    assert quoting["text"] == "Look, Sørensen of Northport"
    assert f"/social/northportecho/status/{quoted.id}" in quoting["links"]
    assert quoting["videos"] == 1
    assert posts[small.posts["long"].id]["more"]


async def test_what_is_told_of_a_post(page: Page, small: Small) -> None:
    await page.goto("/social/search?q=from:northportecho&f=live")
    await sign_in(page)
    await page.locator("article").first.wait_for()
    article = (await page.evaluate(ARTICLES))[0]
    found = small.posts["video"]
    assert article["link"] == f"/social/northportecho/status/{found.id}"
    assert (article["moment"], article["age"]) == ("2026-03-14T12:55:00.000Z", "5m")
    assert (article["text"], article["language"]) == ("¡Gol de Sørensen! #NFC", "es")
    assert "The Northport Echo" in article["name"]
    assert "@northportecho" in article["name"]
    assert f"/social/northportecho/status/{found.id}/video/1" in article["links"]


async def test_hostile_text_is_only_text(page: Page, small: Small) -> None:
    await page.goto(f"/social/somebody/status/{small.posts['hostile'].id}/video/1")
    text = page.get_by_test_id("tweetText")
    await text.wait_for()
    assert await text.text_content() == HOSTILE
    assert await page.title() == "Post / Terrace"
    assert await page.locator("article img, article script").count() == 0


async def test_nothing_found(page: Page) -> None:
    await page.goto("/social/search?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E")
    await sign_in(page)
    header = page.get_by_test_id("empty_state_header_text")
    await header.wait_for()
    assert await header.text_content() == 'No results for “"><script>alert(1)</script>”'


async def test_a_wrong_password(small: Small) -> None:
    answer = await small.client.post("/social/i/flow/login", data={"text": "touchline", "password": "onside"})
    assert answer.status_code == 400
    assert "Wrong username or password." in answer.text
    assert "set-cookie" not in answer.headers


async def signed_in(small: Small) -> dict[str, str]:
    answer = await small.client.post("/social/i/flow/login", data={"text": "@Touchline", "password": "offside"})
    small.client.cookies.clear()
    assert answer.status_code == 303
    assert "HttpOnly" in answer.headers["set-cookie"]
    return {"Cookie": f"auth_token={answer.cookies['auth_token']}"}


@pytest.mark.parametrize(
    ("target", "goes_to"),
    [
        ("/social/search?q=a", "/social/search?q=a"),
        ("https://elsewhere.example/", "/social/search"),
        ("//elsewhere.example/social/", "/social/search"),
        ("/social/\\elsewhere.example", "/social/search"),
        ("/football/", "/social/search"),
    ],
)
async def test_signing_in_leads_nowhere_else(small: Small, target: str, goes_to: str) -> None:
    form = {"text": "touchline", "password": "offside"}
    path = "/social/i/flow/login"
    answer = await small.client.post(path, data=form, params={"redirect_after_login": target})
    small.client.cookies.clear()
    assert answer.headers["location"] == goes_to


@pytest.mark.parametrize("cookie", ["", "auth_token=wrong", "auth_token=ü"])
async def test_without_a_session_nothing_is_told(small: Small, cookie: str) -> None:
    headers = [(b"Cookie", cookie.encode())]
    page = await small.client.get(SEARCH, headers=headers)
    assert page.status_code == 302
    assert page.headers["location"].startswith("/social/i/flow/login?redirect_after_login=%2Fsocial%2Fsearch%3Fq%3D")
    assert (await small.client.get(API, params={"q": "northport"}, headers=headers)).status_code == 401


async def test_the_order_of_tabs(small: Small) -> None:
    headers = await signed_in(small)

    async def found(tab: str) -> list[str]:
        answer = await small.client.get(API, params={"q": "sørensen OR northport", "f": tab}, headers=headers)
        return [each["id"] for each in answer.json()["posts"] if not each["promoted"]]

    top, live, video = [await found(tab) for tab in ("top", "live", "video")]
    assert top[0] == small.posts["video"].id
    assert live[:2] == [small.posts[name].id for name in ("quoting", "long")]
    assert video == [small.posts[name].id for name in ("two videos", "video")]


async def test_who_scrolls_is_not_disturbed_by_new_posts(tmp_path_factory: pytest.TempPathFactory) -> None:
    posts = [post(number, 10 + number, "Northport") for number in range(60)]
    world, wall = world_of(day_of(posts), tmp_path_factory.mktemp("growing"), 40)
    async with served(build_app(world)) as url, httpx.AsyncClient(base_url=url) as client:
        await client.post("/social/i/flow/login", data={"text": "touchline", "password": "offside"})
        seen, cursor = list[str](), ""
        while cursor is not None:
            page = (await client.get(API, params={"q": "northport", "f": "live", "cursor": cursor})).json()
            seen += [each["id"] for each in page["posts"]]
            cursor = page["cursor"]
            wall.advance(timedelta(minutes=5))
    assert seen == [each.id for each in posts[30::-1]]


@pytest.mark.parametrize(
    ("trouble", "page", "loaded"),
    [
        (Trouble.OUTAGE, 503, 503),
        (Trouble.LIMITED, 429, 429),
        (Trouble.ERRORS, 200, 500),
        (Trouble.EMPTY, 200, 200),
    ],
)
async def test_troubles(trouble: Trouble, page: int, loaded: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    day = day_of([post(1, 10, "Northport")], [Fault(Service.SEARCH, trouble, 0, 10**9)])
    world, _ = world_of(day, tmp_path_factory.mktemp("troubled"))
    async with served(build_app(world)) as url, httpx.AsyncClient(base_url=url) as client:
        await client.post("/social/i/flow/login", data={"text": "touchline", "password": "offside"})
        assert (await client.get(SEARCH)).status_code == page
        answer = await client.get(API, params={"q": "northport"})
        assert answer.status_code == loaded
        if loaded == 200:
            assert answer.json() == {"posts": [], "cursor": None}


async def test_a_session_expires_and_signing_in_again_helps(tmp_path_factory: pytest.TempPathFactory) -> None:
    day = day_of([post(1, 10, "Northport")], [Fault(Service.SEARCH, Trouble.LOGIN, 1_200_000, 2_400_000)])
    world, wall = world_of(day, tmp_path_factory.mktemp("expiring"), 10)

    async def statuses(client: httpx.AsyncClient) -> list[int]:
        return [(await client.get(SEARCH)).status_code, (await client.get(API, params={"q": "northport"})).status_code]

    async def sign_in(client: httpx.AsyncClient) -> None:
        await client.post("/social/i/flow/login", data={"text": "touchline", "password": "offside"})

    async with (
        served(build_app(world)) as url,
        httpx.AsyncClient(base_url=url) as old,
        httpx.AsyncClient(base_url=url) as new,
    ):
        await sign_in(old)
        assert await statuses(old) == [200, 200]
        wall.advance(timedelta(minutes=20))
        assert await statuses(old) == [302, 401]
        await sign_in(new)
        assert await statuses(new) == [200, 200]
        wall.advance(timedelta(minutes=20))
        assert await statuses(old) == await statuses(new) == [200, 200]


async def test_single_posts_are_there_for_everybody(small: Small) -> None:
    async def status(name: str) -> int:
        post = small.posts[name]
        return (await small.client.get(f"/social/{post.author.handle}/status/{post.id}")).status_code

    assert [await status(name) for name in ("video", "removed", "later")] == [200, 404, 404]
    one = await small.client.get(f"/social/i/api/posts/{small.posts['removed'].id}.json")
    assert one.json() == {"errors": [{"code": 144, "message": "This post was deleted by its author."}]}
