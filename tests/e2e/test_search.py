"""From what a video shows to the moment it shows it, in a real browser."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.integration.process.videos import make_captions
from tests.support.wait import eventually

from .browser import open_library
from .product import Product

VIDEO = "query ($hash: String!) { video(artifactHash: $hash) { isSearchable } }"
CLIPS = """
query ($hash: String!) {
  clipsConnection(artifactHash: $hash) { edges { node { title startSeconds endSeconds } } }
}
"""
SEARCH = """
query ($words: String!) { search(query: $words) { ... on SearchPage { edges { node { text startMs } } } } }
"""
DELETE = "mutation ($hash: String!) { deleteVod(artifactHash: $hash) { __typename } }"
UNDELETE = "mutation ($hash: String!) { undeleteArtifact(artifactHash: $hash) { __typename } }"
READ_WITHIN_S = 180.0  # the videos of other tests are read before it
SIZE = (640, 360)
CAPTION = (60, 250, 1000)  # left, top, and the millisecond from which on it is there
# Where the player stood whenever it had come somewhere or had begun to play.
NOTE_TIMES = """
window.stood = [];
for (const name of ["seeked", "playing", "timeupdate"]) {
  addEventListener(name, ({ target }) => window.stood.push(target.currentTime), true);
}
"""
STANDS = "() => window.stood.length > 0 && document.querySelector('video').readyState >= 2"
# The caption is white on a dark ground: is it there, so much later than where the player came first?
IS_SHOWN = """
([left, top, later]) => new Promise((resolve) => {
  const video = document.querySelector("video");
  const look = () => {
    const canvas = new OffscreenCanvas(640, 360).getContext("2d");
    canvas.drawImage(video, 0, 0, 640, 360);
    const pixels = canvas.getImageData(left, top, 200, 30).data;
    resolve(Math.max(...pixels.filter((_, index) => index % 4 === 0)) > 200);
  };
  const painted = () => requestAnimationFrame(() => requestAnimationFrame(look));
  video.pause();
  video.addEventListener("seeked", painted, { once: true });
  video.currentTime = window.stood[0] + later;
})
"""


async def shown(product: Product, folder: Path) -> dict[str, str]:
    """A video with captions, uploaded and read; its ids."""
    source = make_captions(folder / "captions.mp4")
    code, done = await asyncio.to_thread(product.upload, str(source), "--title", "Derby")
    assert code == 0, done

    def is_searchable() -> bool:
        found = product.graphql(VIDEO, hash=done["artifact_hash"])["video"]
        return bool(found and found["isSearchable"])

    await asyncio.to_thread(eventually, is_searchable, READ_WITHIN_S)
    return done


async def area(locator: Locator) -> dict[str, Any]:
    found = await locator.bounding_box()
    assert found
    return dict(found)


async def stands_where_it_appears(page: Page) -> None:
    """To the picture: the one before does not show it yet. Where that is on its clock is the stream's own affair."""
    await page.wait_for_function(STANDS)
    left, top, _ = CAPTION
    shown = [await page.evaluate(IS_SHOWN, [left, top, later]) for later in (-0.01, 0.0)]
    assert shown == [False, True], await page.evaluate("() => window.stood")


@pytest.mark.timeout(2 * READ_WITHIN_S)
async def test_what_is_found_is_seen_and_played_from_its_millisecond(
    product: Product, page: Page, tmp_path: Path
) -> None:
    video = await shown(product, tmp_path)
    await page.add_init_script(NOTE_TIMES)
    await open_library(page)
    await page.keyboard.press("/")
    field = page.get_by_role("combobox", name="Search videos")
    await expect(field).to_be_focused()
    await page.keyboard.type("henr")
    await page.get_by_role("option", name="henrik").wait_for()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/search?q=henrik")

    hit = page.get_by_role("list", name="Texts found").get_by_role("listitem")
    await expect(hit).to_have_count(1)
    await expect(hit.get_by_role("link", name="Henrik Dahl")).to_be_visible()
    await expect(hit.locator("mark")).to_have_text("Henrik")
    picture, box = hit.locator("img"), hit.locator("img + span")
    await expect(picture).to_have_js_property("naturalWidth", SIZE[0])
    frame, drawn = await area(picture), await area(box)
    left, top = ((drawn[side] - frame[side]) / frame["width"] * SIZE[0] for side in "xy")
    assert (abs(left - CAPTION[0]) < 12, abs(top - CAPTION[1]) < 20) == (True, True), (left, top)
    assert 0.2 < drawn["width"] / frame["width"] < 0.5

    await page.keyboard.press("ArrowDown")
    await expect(hit.get_by_role("link")).to_be_focused()
    await page.keyboard.press("c")
    await expect(page.get_by_text("The clip “Henrik Dahl” is being created.")).to_be_visible()
    [clip] = product.graphql(CLIPS, hash=video["artifact_hash"])["clipsConnection"]["edges"]
    assert clip["node"] == {"title": "Henrik Dahl", "startSeconds": 1.0, "endSeconds": 3.5}
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/watch/{video['playback_id']}?t={CAPTION[2]}")
    await stands_where_it_appears(page)
    await page.reload()  # the address is all that is needed, and nobody has pressed anything here
    await stands_where_it_appears(page)

    await page.goto("/search?q=derby&where=title")  # a title, which has no picture and plays from the start
    await expect(hit.get_by_text("in the title")).to_be_visible()
    found_in = page.get_by_role("group", name="Found in")
    await expect(found_in.get_by_role("button", name="Title 1", pressed=True)).to_be_visible()
    await expect(found_in.get_by_role("button", name="Match facts 0")).to_be_disabled()
    await expect(hit.get_by_role("link", name="Derby")).to_have_attribute("href", f"/watch/{video['playback_id']}")
    await expect(hit.get_by_role("button")).to_have_count(0)

    await page.goto("/search?q=henirk&min=0.5")
    await expect(page.get_by_text(re.compile("No results for “henirk”; showing results for “henrik”"))).to_be_visible()
    await page.get_by_role("button", name="Remove filter: Confidence at least 50%").click()
    await page.wait_for_url("**/search?q=henirk")
    await expect(hit).to_have_count(1)
    await goes_and_comes_back(product, video["artifact_hash"])
    await page.reload()
    await expect(hit).to_have_count(1)


async def goes_and_comes_back(product: Product, artifact_hash: str) -> None:
    """With its video, from what was read before: nobody reads it again."""

    def found() -> list[Any]:
        return product.graphql(SEARCH, words="henrik")["search"]["edges"]

    before, jobs = found(), product.rows("SELECT id FROM process.jobs WHERE job_type IN ('sample', 'ocr')")
    product.graphql(DELETE, hash=artifact_hash)
    await asyncio.to_thread(eventually, lambda: not found())
    assert product.graphql(UNDELETE, hash=artifact_hash)["undeleteArtifact"]["__typename"] == "UndeletedArtifact"
    assert await asyncio.to_thread(eventually, found) == before
    assert product.rows("SELECT id FROM process.jobs WHERE job_type IN ('sample', 'ocr')") == jobs
