"""From a file to a playing video, in a real browser."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

from playwright.async_api import Page, expect

from tests.e2e.browsing import drop, open_library, row, wait_until_ready, watch
from tests.e2e.product import Product
from tests.support.footage import with_captions
from tests.support.videos import LADDER, MP4, Studio

SHOWN = """
(words) => [...document.querySelector("video").textTracks]
  .filter(({ mode }) => mode === "showing")
  .some(({ cues }) => [...cues].some(({ text }) => text === words))
"""


async def test_a_dropped_file_becomes_a_playing_video(page: Page, studio: Studio) -> None:
    await open_library(page)
    await drop(page, studio.make(MP4), "Cup final.mp4")
    await wait_until_ready(page, "Cup final")
    loaded = "picture => picture.decode().then(() => picture.naturalWidth)"
    assert await row(page, "Cup final").locator("img").evaluate(loaded) > 0
    await row(page, "Cup final").get_by_role("link").click()
    assert await watch(page, seconds=2, frames=25) > 100
    await expect(page).to_have_title(re.compile("Cup final"))


async def test_a_file_that_browsers_do_not_play_is_encoded_again(product: Product, page: Page, studio: Studio) -> None:
    """In several qualities, with its sound and its captions."""
    short = replace(LADDER, seconds=4, size=(852, 480))
    source = with_captions(studio.make(short), studio.folder / "old-camera.mkv", "subrip")
    code, done = await asyncio.to_thread(product.upload, str(source), "--title", "From an old camera")
    assert code == 0, done
    await page.goto(done["url"])
    assert await watch(page, seconds=2, frames=5) > 100
    assert await page.evaluate("() => document.querySelector('video').webkitAudioDecodedByteCount") > 0
    await page.get_by_role("button", name="Captions", exact=True).click()
    await page.get_by_role("button", name="Captions 1 (deu)").wait_for()
    await page.wait_for_function(SHOWN, arg="Tor! Müller ⚽")


async def test_an_upload_from_elsewhere_appears_without_a_reload(product: Product, page: Page, studio: Studio) -> None:
    await open_library(page)
    await page.evaluate("() => { window.sameDocument = true }")
    uploading = asyncio.create_task(
        asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "From the command line")
    )
    await wait_until_ready(page, "From the command line")
    assert (await uploading)[0] == 0
    assert await page.evaluate("() => window.sameDocument")


async def test_what_was_deleted_cannot_be_watched(product: Product, page: Page, studio: Studio) -> None:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "Second half")
    assert code == 0, done
    await open_library(page)
    await row(page, "Second half").get_by_role("button", name="Delete Second half").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row(page, "Second half")).to_have_count(0)
    await page.goto(done["url"])
    await page.get_by_text("There is no such video").wait_for()
