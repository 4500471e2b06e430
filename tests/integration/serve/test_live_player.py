"""A live stream in a real browser: hls.js plays it at its live edge, goes back a minute, and returns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from imageio_ffmpeg import get_ffmpeg_exe  # pyright: ignore[reportMissingTypeStubs]
from playwright.async_api import Page, async_playwright

from tests.e2e.browser import FLAGS, find_chromium
from tests.support.stack import ROOT

from .test_live import LiveSite, site

__all__ = ["site"]
TIMEOUT_MS = 90_000  # a busy machine is no finding
HLS = ROOT / "web" / "node_modules" / "hls.js" / "dist" / "hls.min.js"
AHEAD_S = 75  # sent at once, the rest by the clock
BACK_S = 60
PLAYER = """
(url) => {
  const video = document.querySelector("video");
  window.errors = [];
  window.hls = new Hls({ lowLatencyMode: true });
  hls.on(Hls.Events.ERROR, (_, { fatal, details }) => { if (fatal) window.errors.push(details); });
  hls.loadSource(url);
  hls.attachMedia(video);
  video.play();
}
"""
PLAYS_LIVE = """
(window_s) => {
  const video = document.querySelector("video"), range = video.seekable;
  return !video.paused && video.currentTime > window_s && range.length > 0
    && video.getVideoPlaybackQuality().totalVideoFrames > 10;
}
"""
GO_TO = "(time) => { document.querySelector('video').currentTime = time; }"
NOW = "() => document.querySelector('video').currentTime"
PLAYS_BETWEEN = """
([from, until]) => {
  const { currentTime, seeking, paused } = document.querySelector("video");
  return !seeking && !paused && currentTime > from && currentTime < until;
}
"""
IS_LOW_LATENCY = "() => { const { live, canBlockReload, partTarget } = hls.levels[0].details; "
IS_LOW_LATENCY += "return [live, canBlockReload, partTarget > 0 && partTarget < 1]; }"


@asynccontextmanager
async def match_of_a_minute(url: str) -> AsyncGenerator[None]:
    """More than a minute at once, and then on by the clock."""
    paced = ("-re", "-readrate_initial_burst", str(AHEAD_S))
    inputs = (*paced, "-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15", *paced, "-f", "lavfi", "-i", "sine=440")
    codecs = ("-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "15", "-c:a", "aac")
    process = await asyncio.create_subprocess_exec(
        get_ffmpeg_exe(), "-nostdin", "-loglevel", "error", *inputs, *codecs, "-f", "flv", url
    )
    try:
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@asynccontextmanager
async def blank_page() -> AsyncGenerator[Page]:
    """With the player of the page in it, which gets media from another address."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        page = await browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        await page.set_content("<video muted></video>")
        await page.add_script_tag(path=HLS)
        yield page
        await browser.close()


async def test_a_browser_plays_live_goes_back_a_minute_and_plays_on(site: LiveSite) -> None:
    node, made = await site.node(), await site.stream()
    async with match_of_a_minute(site.url(made.key)), blank_page() as page:
        await site.until(made.stream, lambda row: bool(row.live and row.live.playable_at))
        await page.evaluate(PLAYER, node.url + site.path(made.stream, "index.m3u8"))
        await page.wait_for_function(PLAYS_LIVE, arg=AHEAD_S - 10)
        assert await page.evaluate(IS_LOW_LATENCY) == [True, True, True]
        edge = await page.evaluate(NOW)
        await page.evaluate(GO_TO, edge - BACK_S)
        await page.wait_for_function(PLAYS_BETWEEN, arg=[edge - BACK_S + 1, edge - BACK_S + 40])
        await page.evaluate(GO_TO, edge)
        await page.wait_for_function(PLAYS_BETWEEN, arg=[edge + 2, edge + 3600])
        assert await page.evaluate("() => window.errors") == []
