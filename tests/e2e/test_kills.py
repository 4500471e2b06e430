"""What is killed in the middle goes on afterwards, and nothing happens twice."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace

from playwright.async_api import Page

from tests.support.videos import AVI, MP4, Studio
from tests.support.wait import eventually

from .browser import open_library, wait_until_ready, watch
from .product import Product

# Encoded again, and long enough to be caught at it.
LONG = replace(AVI, name="long.avi", seconds=20, size=(640, 360))
CAUGHT = "SELECT 1 FROM process.jobs WHERE job_type = 'transcode' AND status = 'processing' AND progress_percent > 0"
MADE = "SELECT attempt FROM process.jobs WHERE video_id = %s::uuid AND job_type = 'transcode' AND status = 'done'"
OUTCOMES = """
SELECT count(*) AS times FROM platform.events
 WHERE key = %s AND type = 'video.transcoded' AND data ->> 'storyboard_key' IS NOT NULL
"""


async def test_a_worker_killed_in_the_middle_makes_the_video_ready_once(
    product: Product, page: Page, studio: Studio
) -> None:
    await open_library(page)
    arguments = [str(studio.make(LONG)), "--title", "Golden goal"]
    uploading = asyncio.create_task(asyncio.to_thread(product.upload, *arguments))
    await asyncio.to_thread(eventually, lambda: product.rows(CAUGHT))
    os.kill(product.installation.pid("worker"), signal.SIGKILL)
    await wait_until_ready(page, "Golden goal")
    code, done = await uploading
    assert code == 0, done
    [job] = await asyncio.to_thread(eventually, lambda: product.rows(MADE, done["artifact_hash"]))
    assert job["attempt"] == 2
    [told] = product.rows(OUTCOMES, f"artifact:{done['artifact_hash']}")
    assert told["times"] == 1
    await page.goto(done["url"])
    assert await watch(page, seconds=1, frames=10) > 100


async def test_everything_is_there_after_the_supervisor_was_killed(
    product: Product, page: Page, studio: Studio
) -> None:
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "Kept")
    assert code == 0, done
    os.kill(product.installation.state.pid, signal.SIGKILL)
    started = await asyncio.to_thread(product.installation.up)
    assert not [line for line in started["greeting"] if "/sign-in" in line], "the link is shown once"
    await open_library(page)
    await wait_until_ready(page, "Kept")
    await page.goto(done["url"])
    assert await watch(page, seconds=1, frames=10) > 100
