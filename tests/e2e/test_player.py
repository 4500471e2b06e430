"""From a file to a playing video, in a real browser."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from uuid import UUID

import av
import pytest
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from playwright.async_api import BrowserContext, Page, expect

from tests.support.footage import with_captions
from tests.support.videos import LADDER, MP4, Studio

from .browser import drop, open_library, row, wait_until_ready, watch
from .product import Product

SHOWN = """
(words) => [...document.querySelector("video").textTracks]
  .filter(({ mode }) => mode === "showing")
  .some(({ cues }) => [...cues].some(({ text }) => text === words))
"""


RATE, PICTURES = 5, 30
LEAD_S = 0.4  # two pictures
FIRST_CAPTION_S = 0.5
CUE_START = """
() => [...document.querySelector("video").textTracks].find(({ mode }) => mode === "showing").cues[0].startTime
"""
# Where the player came first when it was told where to begin.
NOTE_FIRST = """
addEventListener("seeked", ({ target }) => { window.first ??= target.currentTime; }, true);
"""
STANDS = "() => window.first !== undefined && document.querySelector('video').readyState >= 3"
PAUSE_THERE = (
    "() => { const video = document.querySelector('video'); video.pause(); video.currentTime = window.first; }"
)
RESTS = "() => document.querySelector('video').paused && !document.querySelector('video').seeking"
# Which picture is shown: each is a little brighter than the one before.
SHOWN_NUMBER = """
() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => {
  const canvas = new OffscreenCanvas(16, 16).getContext("2d");
  canvas.drawImage(document.querySelector("video"), 0, 0, 16, 16);
  const [red] = canvas.getImageData(8, 8, 1, 1).data;
  resolve(Math.round(((red * 219) / 255 - 14) / 6));
})))
"""


def make_numbered(path: Path) -> Path:
    """Six seconds whose pictures are reordered: in the stream everything lies two fifths of a second later."""
    with av.open(str(path), "w", format="mp4") as container:
        options = {"preset": "veryfast", "x264-params": "bframes=2:b-adapt=0:scenecut=0:keyint=10"}
        stream = container.add_stream("libx264", rate=RATE, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 320, 180, "yuv420p"
        for number in range(PICTURES):
            frame = VideoFrame(320, 180, "yuv420p")
            for plane, level in zip(frame.planes, (30 + 6 * number, 128, 128), strict=True):
                plane.update(bytes([level]) * plane.buffer_size)
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


async def shown_number(page: Page) -> int:
    await page.wait_for_function(RESTS)
    return await page.evaluate(SHOWN_NUMBER)


@pytest.mark.parametrize("has_captions", [False, True])
async def test_the_players_clock_is_that_of_the_original(
    product: Product, page: Page, tmp_path: Path, has_captions: bool
) -> None:
    """Whatever lies before its first moment in the stream: in addresses, on the bar, beside it and for the keys."""
    source = make_numbered(tmp_path / "numbered.mp4")
    if has_captions:
        source = with_captions(source, tmp_path / "numbered.mkv", "subrip")
    code, done = await asyncio.to_thread(product.upload, str(source), "--title", "Numbered")
    assert code == 0, done
    await page.add_init_script(NOTE_FIRST)
    await page.goto(f"{done['url']}?t=3000")
    await page.wait_for_function(STANDS)
    first = await page.evaluate("() => window.first")  # to a millisecond: browsers round their clocks
    assert first == pytest.approx(3 + LEAD_S, abs=0.001), "the stream itself counts otherwise"
    await page.evaluate(PAUSE_THERE)
    assert await shown_number(page) == 15
    position, clock = page.get_by_role("slider", name="Position"), page.get_by_text("0:03 / 0:06")
    await expect(position).to_have_value("3")
    await expect(clock).to_be_visible()
    await position.fill("2.1")
    await expect(page.get_by_text("0:02 / 0:06")).to_be_visible()
    assert await shown_number(page) == 10
    await page.get_by_role("heading", name="Numbered").click()
    await page.keyboard.press("j")
    await expect(page.get_by_text("0:00 / 0:06")).to_be_visible()
    await expect(position).to_have_value("0")
    assert await shown_number(page) == 0
    if has_captions:
        await page.get_by_role("button", name="Captions", exact=True).click()
        await page.wait_for_function(SHOWN, arg="Tor! Müller ⚽")
        assert await page.evaluate(CUE_START) == pytest.approx(FIRST_CAPTION_S + LEAD_S, abs=0.001)


async def test_a_dropped_file_becomes_a_playing_video(page: Page, studio: Studio) -> None:
    await open_library(page)
    await drop(page, studio.make(MP4), "Cup final.mp4")
    await wait_until_ready(page, "Cup final")
    await expect(row(page, "Cup final").locator("img")).not_to_have_js_property("naturalWidth", 0)
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


async def test_what_was_deleted_cannot_be_watched_until_that_is_undone(
    product: Product, page: Page, studio: Studio
) -> None:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "Second half")
    assert code == 0, done
    await open_library(page)
    await row(page, "Second half").get_by_role("button", name="Delete Second half").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row(page, "Second half")).to_have_count(0)
    await page.get_by_role("button", name="Undo").click()
    await wait_until_ready(page, "Second half")
    await row(page, "Second half").get_by_role("button", name="Delete Second half").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(row(page, "Second half")).to_have_count(0)
    await page.goto(done["url"])
    await page.get_by_text("Video not found").wait_for()


async def test_a_video_whose_file_is_lost_says_so(product: Product, signed_in: BrowserContext, studio: Studio) -> None:
    """To whoever watches, by `scan` and by `doctor`, every time; and nothing else breaks."""
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "Lost")
    assert code == 0, done
    page = await signed_in.new_page()  # of its own: a browser complains of every answer that refuses
    for kind in ("original", "proxy"):
        await product.lose(f"videos/{kind}/{UUID(done['artifact_hash'])}")
    await page.goto(done["url"])
    alert = page.get_by_role("alert").filter(has_text="The file of this video is missing")
    await expect(alert).to_contain_text("Tell your administrator")
    await page.close()

    scans = [await asyncio.to_thread(product.installation.command, "scan") for _ in range(2)]
    assert [done["artifact_hash"] in report["missing"] for _, report in scans] == [True, True]
    code, findings = await asyncio.to_thread(product.installation.command, "doctor")
    assert code == 8
    [files] = [finding for finding in findings if finding["check"] == "files"]
    assert (files["level"], files["what"]) == ("fail", "video files are missing")
    assert "touchline scan" in files["fix"]
    await product.delete(done["artifact_hash"])
    assert done["artifact_hash"] not in (await asyncio.to_thread(product.installation.command, "scan"))[1]["missing"]


async def test_an_unknown_address_is_a_page_with_a_way_back(signed_in: BrowserContext) -> None:
    page = await signed_in.new_page()  # of its own: a browser complains of every answer that refuses
    answer = await page.goto("/nowhere/at/all")
    assert answer
    assert answer.status == 404
    await page.get_by_text("This page does not exist").wait_for()
    await page.get_by_role("button", name="Go to the library").click()
    await page.get_by_role("heading", name="Library").wait_for()
    await page.close()
