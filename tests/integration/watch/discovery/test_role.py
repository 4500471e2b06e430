"""The search client against the browser role with a real Chromium, on the world's network."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from tests.support.watch_context import add_goal, workflow_id
from tests.support.world import PAPER, SHOP, clip, day_of, post, promoted, served, world_of
from touchline.watch.browser.app import build_app
from touchline.watch.context import WatchContext
from touchline.watch.discovery.client import SearchClient
from touchline.watch.discovery.queries import search_state
from touchline.watch.discovery.service import Canary, Discovery
from touchline.watch.discovery.workflow import Discovered, SearchNeed, SearchOrder
from touchline.watch.settings import BrowserSettings, DiscoverySettings
from touchline_world.application import ACCOUNT, build_app as build_world

NOW = 60.5  # minutes of the day
POSTS = [
    post(1001, 56, "¡Gol de Sørensen! #NFC", clip(1), author=PAPER),
    post(1002, 57, "SORENSEN, both angles. Northport!", clip(1), clip(2)),
    post(1003, 57.5, "Sørensen scored for Northport? Odds boosted, sign up today", clip(3), author=SHOP),
    promoted(post(1004, 10, "Sørensen of Northport wears these", clip(4), author=SHOP)),
    post(1005, 20, "Sørensen, Northport: long ago", clip(5)),
]


TOKEN = SecretStr("open sesame")


@asynccontextmanager
async def client(folder: Path) -> AsyncGenerator[SearchClient]:
    world, wall = world_of(day_of(POSTS), folder, NOW)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(build_world(world)))
        browser = BrowserSettings(
            network_url=f"{url}/social", query_filter="", asset_hosts=(),
            user=ACCOUNT.user, password=SecretStr(ACCOUNT.password), token=TOKEN,
        )  # fmt: skip
        role = build_app(browser, folder / "session", wall)
        await stack.enter_async_context(role.router.lifespan_context(role))
        own = await stack.enter_async_context(served(role))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False))
        settings = DiscoverySettings(
            browser_url=own, browser_token=TOKEN, hosts=(urlsplit(url).netloc,), canary_query="Northport"
        )
        yield SearchClient(settings, http)


async def test_a_goal_is_found(tmp_path: Path, context: WatchContext) -> None:
    async with client(tmp_path) as search:
        wall = context.clock.now()
        goal = await add_goal(context, first_seen=wall - timedelta(minutes=8))
        discovery = Discovery(context, search.settings)
        assert (await discovery.begin(goal, workflow_id(goal))).lives
        words = ["Northport", "NFC"]
        data = await discovery.search_data(SearchNeed(goal, 1, "M. Sørensen", words))
        found = [
            each for query in data.queries for each in await search.find(SearchOrder(query, data.exclude_urls, 20))
        ]
        assert [(each.post_id[-4:], each.video_index) for each in found] == [
            ("1003", 1), ("1002", 1), ("1002", 2), ("1001", 1),
        ]  # fmt: skip
        reported = Discovered(goal, 1, "Northport-Sorensen", "M. Sørensen", words, wall.isoformat(), found, None, 2)
        chosen = (await discovery.keep_found(reported)).videos
        assert {(each.post_id[-4:], each.video_index) for each in chosen} == {("1001", 1), ("1002", 1), ("1002", 2)}

        assert await search.find(SearchOrder("Sorensen Northport", [each.url for each in found], 20)) == []
        canary = Canary(context, search, search.settings)
        assert await canary.run_pass() is False
    async with context.database.transaction(context.owner.tenant_id) as transaction:
        state = await search_state(transaction)
    assert state
    assert (state.works, state.found, state.failures) == (True, 4, 0)


async def test_a_search_that_answers_and_finds_nothing_does_not_work(tmp_path: Path, context: WatchContext) -> None:
    async with client(tmp_path) as search:
        silent = search.settings.model_copy(update={"canary_query": "nobody"})
        await Canary(context, search, silent).run_pass()
        async with context.database.transaction(context.owner.tenant_id) as transaction:
            state = await search_state(transaction)
        assert state
        assert (state.works, state.found, state.failures) == (False, 0, 1)
        assert "finds nothing" in (state.failure or "")
        await Canary(context, search, silent.model_copy(update={"canary_least": 0})).run_pass()
        async with context.database.transaction(context.owner.tenant_id) as transaction:
            state = await search_state(transaction)
        assert state
        assert state.works
