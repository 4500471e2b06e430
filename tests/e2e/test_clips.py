"""From a part of a video to a clip that plays on its own page, in a real browser."""

from __future__ import annotations

import asyncio

from playwright.async_api import Page

from tests.e2e.browsing import open_library, row, wait_until_ready, watch
from tests.e2e.product import Product
from tests.support.videos import MP4, Studio


async def test_a_clip_is_listed_with_its_source_and_plays(product: Product, page: Page, studio: Studio) -> None:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "The whole match")
    assert code == 0, done
    ask = (
        "clips",
        "create",
        done["artifact_hash"],
        "--from",
        "0.5",
        "--to",
        "2.5",
        "--pad",
        "0",
        "--title",
        "The goal",
    )
    code, clip = await asyncio.to_thread(product.installation.run, *ask)
    assert (code, clip["status"]) == (0, "requested"), clip
    await open_library(page)
    await wait_until_ready(page, "The goal")
    assert await row(page, "The goal").get_by_role("link", name="The whole match").get_attribute("href")
    await row(page, "The goal").get_by_role("link", name="The goal").click()
    assert await watch(page, seconds=1, frames=12) > 100
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download clip").click()
    assert (await download.value).suggested_filename == "The goal.mp4"
