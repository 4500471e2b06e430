"""A match that is published by RTMP, on the open page: it appears, plays, goes back, is recorded and clipped."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

from playwright.async_api import Page, expect

from .browser import watch
from .product import Product

POSITION = "() => document.querySelector('video').currentTime"
GONE_BACK = "([was, least]) => was - document.querySelector('video').currentTime > least"


@contextmanager
def published(server: str, key: str) -> Generator[None]:
    """By the encoder of the world, which comes back when it is refused for a moment."""
    options = ["--to", f"{server}/{key}", "--height", "180"]
    command = [sys.executable, "-m", "touchline", "world", "encoder", *options]
    encoder = subprocess.Popen(command)
    try:
        yield
    finally:
        encoder.terminate()
        encoder.wait()


async def created(page: Page, title: str) -> tuple[str, str]:
    """By a person, who copies what OBS asks for: the server and the key."""
    await page.get_by_role("button", name=re.compile("New stream|Create a stream")).click()
    await page.get_by_label("Title").fill(title)
    await page.get_by_role("button", name="Create stream").click()
    shown = page.get_by_role("dialog", name=f"Publish to “{title}”")
    server = await shown.get_by_label("The RTMP server", exact=True).input_value()
    key = await shown.get_by_label("The stream key", exact=True).first.input_value()
    await expect(shown.get_by_role("button", name="Copy: the stream key")).to_be_visible()
    await shown.get_by_role("button", name="I have copied it").click()
    return server, key


async def test_a_stream_is_watched_recorded_and_clipped(page: Page, product: Product) -> None:
    await page.goto("/")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Live").click()
    await expect(page).to_have_url(re.compile("/live$"))
    title = "Harbour Rovers against Valle Azul"
    server, key = await created(page, title)
    await expect(page).to_have_url(re.compile("/live/[0-9a-f-]{36}$"))
    await expect(page.get_by_text("Nobody publishes now")).to_be_visible()
    await page.get_by_role("navigation", name="Where you are").get_by_role("link", name="Live").click()
    card = page.get_by_role("list", name="Streams").get_by_role("listitem").filter(has_text=title)
    await expect(card).to_contain_text("Offline")

    with published(server, key):
        await expect(card).to_contain_text("live since")  # the page was not loaded again
        await expect(card.locator("img")).to_be_visible()
        await expect(card).to_contain_text(re.compile(r"bit/s · \d+ frames/s"))
        await card.get_by_role("link", name=title).click()
        assert await watch(page, seconds=0, frames=30) > 10
        await expect(page.get_by_label("Health")).to_contain_text("Keyframe every")
        await page.get_by_role("button", name="Record", exact=True).click()
        await expect(page.get_by_role("button", name="Stop recording")).to_be_visible()

        # Back to the beginning of the window, and to what happens now.
        await page.wait_for_function("() => document.querySelector('video').seekable.end(0) > 12")
        was = await page.evaluate(POSITION)
        await page.get_by_role("slider", name="Position").press("Home")
        await page.wait_for_function(GONE_BACK, arg=[was, 3])
        await expect(page.get_by_role("button", name="Live", exact=True)).to_have_attribute("aria-pressed", "false")
        await page.get_by_role("button", name="Live", exact=True).click()
        await expect(page.get_by_role("button", name="Live", exact=True)).to_have_attribute("aria-pressed", "true")

        await page.get_by_role("button", name="Clip the last 30 s").click()
        clips = page.get_by_role("region", name=re.compile("^Clips"))
        await expect(clips.get_by_role("listitem")).to_contain_text("Ready")
        await page.get_by_role("button", name="Stop recording").click()
        recordings = page.get_by_role("region", name=re.compile("^Recordings"))
        await expect(recordings.get_by_role("listitem")).to_contain_text(title)
        await expect(page.get_by_role("button", name="Record", exact=True)).to_be_visible()
        await clips.get_by_role("link").first.click()
        await expect(page).to_have_url(re.compile("/watch/"))
        assert await watch(page, seconds=1, frames=10) > 10
        await page.get_by_role("navigation", name="Main").get_by_role("link", name="Live").click()
        await expect(card.locator("img")).to_be_visible()
    await expect(card).to_contain_text("Offline")
