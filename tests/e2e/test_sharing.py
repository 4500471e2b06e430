"""A video played by people who are not signed in: by a share link, and in a frame of another site."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from playwright.async_api import Browser, Frame, Page

from tests.support.videos import MP4, Studio

from .browser import Visit, open_library, row, wait_until_ready, watch
from .product import Product

PLAYS = "() => { const video = document.querySelector('video'); return video !== null && video.currentTime > 0.5; }"
MUTED_PLAY = "() => { const video = document.querySelector('video'); video.muted = true; return video.play(); }"


async def uploaded(product: Product, studio: Studio, title: str) -> Any:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", title)
    assert code == 0, done
    return done


async def opened(page: Page, title: str) -> None:
    await open_library(page)
    await wait_until_ready(page, title)
    await row(page, title).get_by_role("link", name=title).click()


async def test_a_share_link_plays_for_strangers_until_it_is_revoked(
    product: Product, page: Page, browser: Browser, studio: Studio
) -> None:
    await uploaded(product, studio, "The shared one")
    await opened(page, "The shared one")
    await page.get_by_role("button", name="Share", exact=True).click()
    await page.get_by_role("button", name="1 day", exact=True).click()
    await page.get_by_role("button", name="Create link").click()
    address = await page.get_by_label("The new link").input_value()
    assert address.startswith(f"{product.url}/share/tlv_")

    stranger = await browser.new_context()
    try:
        theirs = await stranger.new_page()
        visit = Visit(theirs)
        await theirs.goto(address)
        await theirs.get_by_role("heading", name="The shared one").wait_for()
        assert await watch(theirs, seconds=1, frames=12) > 100
        assert visit.complaints == []
        assert await stranger.cookies() == []

        await page.get_by_role("button", name="Revoke the link").click()
        await page.get_by_role("listitem").get_by_text("Revoked").wait_for()
        assert await page.get_by_label("The new link").count() == 0
        await theirs.reload()
        await theirs.get_by_role("heading", name="Nothing to play here").wait_for()
    finally:
        await stranger.close()
    await page.get_by_role("button", name="Close").click()


@contextmanager
def other_site(folder: Path, document: str) -> Generator[str]:
    """A page of somebody else's, at an origin of its own."""
    (folder / "index.html").write_text(document)
    handler = partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  the name is the base class's
        """Nobody reads it."""


async def framed(page: Page, site: str) -> Frame:
    await page.goto(site)
    element = await page.wait_for_selector("iframe")
    assert element
    found = await element.content_frame()
    assert found
    await page.wait_for_function("() => window.loaded")
    return found


async def test_a_listed_site_shows_a_video_and_another_cannot(
    product: Product, browser: Browser, studio: Studio, tmp_path: Path
) -> None:
    done = await uploaded(product, studio, "The embedded one")
    embedded = f"{product.url}/embed/{done['playback_id']}"
    document = f'<iframe src="{embedded}" width="480" height="270" onload="window.loaded = true"></iframe>'
    context = await browser.new_context()
    try:
        page = await context.new_page()
        with other_site(tmp_path, document) as listed, other_site(tmp_path, document) as unlisted:
            code, tenant = product.installation.run("tenants", "set-embed-origins", "default", listed)
            assert (code, tenant["embed_origins"]) == (0, [listed])
            frame = await framed(page, listed)
            await frame.wait_for_function("() => document.querySelector('video') !== null")
            await frame.evaluate(MUTED_PLAY)
            await frame.wait_for_function(PLAYS)
            refused = await framed(page, unlisted)
            assert await refused.query_selector("video") is None
            assert refused.url.startswith("chrome-error:")
    finally:
        await context.close()
        product.installation.run("tenants", "set-embed-origins", "default")
