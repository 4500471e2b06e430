"""From a part of a video to a clip that plays on its own page, in a real browser."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from uuid import UUID

from playwright.async_api import Page, expect

from tests.support.videos import MP4, Studio

from .browser import open_library, row, wait_until_ready, watch
from .product import Product

ORIGINAL = "SELECT original_key FROM serve.artifacts WHERE artifact_hash = %s"
DELETE = "mutation ($hash: String!) { deleteClip(artifactHash: $hash) { __typename } }"


async def uploaded(product: Product, studio: Studio, title: str) -> str:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", title)
    assert code == 0, done
    return done["artifact_hash"]


async def requested(product: Product, source: str, title: str, start: float, end: float) -> Any:
    times = ("--from", str(start), "--to", str(end), "--pad", "0")
    ask = ("clips", "create", source, *times, "--title", title)
    code, clip = await asyncio.to_thread(product.installation.run, *ask)
    assert (code, clip["status"]) == (0, "requested"), clip
    return clip


async def test_a_clip_is_listed_with_its_source_and_plays(product: Product, page: Page, studio: Studio) -> None:
    source = await uploaded(product, studio, "The whole match")
    await requested(product, source, "The goal", 0.5, 2.5)
    await open_library(page)
    await wait_until_ready(page, "The goal")
    assert await row(page, "The goal").get_by_role("link", name="The whole match").get_attribute("href")
    await row(page, "The goal").get_by_role("link", name="The goal").click()
    assert await watch(page, seconds=1, frames=12) > 100
    async with page.expect_download() as download:
        await page.get_by_role("link", name="Download clip").click()
    assert (await download.value).suggested_filename == "The goal.mp4"


async def test_clips_live_on_an_open_page(product: Product, page: Page, studio: Studio) -> None:
    """Asked for, made, deleted and failed elsewhere: the page shows each without being loaded again. What failed is
    retried on its own page, and plays there."""
    source = await uploaded(product, studio, "The second half")
    [original] = await asyncio.to_thread(product.rows, ORIGINAL, source)
    await open_library(page)
    await page.evaluate("() => { window.sameDocument = true }")
    with product.locked("process.clips"):  # nobody takes it on
        clip = await requested(product, source, "The save", 0.5, 1.5)
        await row(page, "The save").get_by_text("Requested", exact=True).wait_for()
    await wait_until_ready(page, "The save")
    await row(page, "The save").scroll_into_view_if_needed()  # pictures are loaded where somebody sees them
    await expect(row(page, "The save").locator("img")).not_to_have_js_property("naturalWidth", 0)
    product.graphql(DELETE, hash=clip["clipHash"])
    await expect(row(page, "The save")).to_have_count(0)
    await product.lose(f"videos/original/{UUID(source)}")
    await requested(product, source, "The foul", 0.0, 1.0)
    await row(page, "The foul").get_by_text("Failed", exact=True).wait_for()
    await expect(row(page, "The foul")).to_contain_text("original is missing")

    await product.bring(original["original_key"], studio.make(MP4))
    await row(page, "The foul").get_by_role("link", name="The foul").click()
    processing = page.get_by_role("region", name="Processing")
    await expect(processing.get_by_role("link", name="Cut clip")).to_have_attribute("href", re.compile("^/jobs/"))
    await processing.get_by_role("button", name="Retry: Cut clip").click()
    assert await watch(page, seconds=0.5, frames=6) > 100
    assert await page.evaluate("() => window.sameDocument")


async def test_whoever_waits_for_a_clip_sees_it_begin(product: Product, page: Page, studio: Studio) -> None:
    source = await uploaded(product, studio, "Extra time")
    with product.locked("process.clips"):
        clip = await requested(product, source, "The penalty", 0.0, 2.0)
        await page.goto(clip["url"])
        await page.get_by_text("It starts automatically as soon as it is playable.").wait_for()
    assert await watch(page, seconds=1, frames=12) > 100
