"""Jobs on the page: what fails appears by its cause, a retry brings it back, a cancel ends it."""

from __future__ import annotations

import asyncio
from typing import Any

from playwright.async_api import Page, expect

from tests.e2e.product import OPERATOR, Product

# A video that nobody uploaded: there is no original, so whatever reads it fails for good.
ENQUEUE = """
WITH named AS MATERIALIZED (SELECT tenant_id, gen_random_uuid() AS video_id FROM access.users WHERE email = %s),
     video AS (INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
               SELECT tenant_id, video_id, format('videos/original/%%s/gone.mp4', video_id), 1, 'video/mp4' FROM named
               RETURNING *)
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, run_at)
SELECT tenant_id, video_id, %s::process.job_type,
       jsonb_build_object('video_id', video_id, 's3_original_path', s3_original_path), now() + %s * interval '1 hour'
  FROM video
RETURNING id
"""
JOB = "SELECT status, attempt, payload #>> '{error,type}' AS error FROM process.jobs WHERE id = %s"


async def rows(product: Product, query: Any, *values: Any) -> Any:
    [found] = await asyncio.to_thread(product.rows, query, *values)
    return found


async def test_failures_are_grouped_retried_and_jobs_cancelled(product: Product, page: Page) -> None:
    waiting = (await rows(product, ENQUEUE, OPERATOR, "clip_generate", 1))["id"]
    await page.goto("/jobs")
    await page.get_by_role("link", name="Cut clip: a deleted video").wait_for()
    failing = (await rows(product, ENQUEUE, OPERATOR, "sample", 0))["id"]
    # It failed while the page was open, which shows it without a reload.
    cause = page.get_by_role("link", name="Sample pictures: OriginalMissing")
    await cause.wait_for()
    await page.get_by_role("button", name="Retry all: Sample pictures: OriginalMissing").click()
    await page.get_by_text("1 job: wait again.").wait_for()
    await page.goto(f"/jobs/{failing}")
    history = page.get_by_role("region", name="History").get_by_role("listitem")
    await expect(history.filter(has_text="retried by hand")).to_contain_text(OPERATOR)
    await expect(history.filter(has_text="Running → Failed")).to_have_count(2)
    assert await rows(product, JOB, failing) == {"status": "failed", "attempt": 2, "error": "OriginalMissing"}

    await page.get_by_role("navigation", name="Pages").get_by_role("link", name="Jobs").click()
    await page.get_by_role("button", name="Cancel Cut clip: a deleted video").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    await page.get_by_role("link", name="Cut clip: Cancelled").wait_for()
    await expect(page.get_by_role("button", name="Cancel Cut clip: a deleted video")).to_have_count(0)
    assert await rows(product, JOB, waiting) == {"status": "failed", "attempt": 1, "error": "Cancelled"}
