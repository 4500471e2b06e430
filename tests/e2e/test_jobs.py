"""Jobs on the page: what fails appears by its cause, a retry brings it back, a cancel ends it."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.support.videos import MP4, Studio
from tests.support.wait import eventually

from .browser import open_library, row, watch
from .product import OPERATOR, Product

# Of a video that nobody uploaded. It waits for its time, so that no worker decides how this goes, however busy it is.
ENQUEUE = """
WITH named AS MATERIALIZED (SELECT tenant_id, gen_random_uuid() AS video_id FROM access.users WHERE email = %s),
     video AS (INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
               SELECT tenant_id, video_id, format('videos/original/%%s/gone.mp4', video_id), 1, 'video/mp4' FROM named
               RETURNING *)
INSERT INTO process.jobs (tenant_id, video_id, job_type, payload, run_at)
SELECT tenant_id, video_id, %s::process.job_type,
       jsonb_build_object('video_id', video_id, 's3_original_path', s3_original_path), now() + interval '1 hour'
  FROM video
RETURNING id
"""
BEGIN = """
UPDATE process.jobs SET status = 'processing', locked_by = 'somebody', locked_until = now() + interval '1 hour'
 WHERE id = %s
RETURNING id
"""
FAIL = """
WITH failed AS (UPDATE process.jobs SET status = 'failed', locked_by = NULL, locked_until = NULL,
                       payload = process.failed_payload(payload, 'ToolBroke', 'the tool broke', 0)
                 WHERE id = %s RETURNING *)
INSERT INTO platform.event_inbox (id, tenant_id, type, version, key, revision, occurred_at, data)
SELECT e.id, f.tenant_id, 'job.changed', 1, e.key, e.revision, now(), e.data
  FROM failed AS f CROSS JOIN LATERAL jsonb_to_record(process.change_text(process.event_prefix(), f)::jsonb)
    AS e (id uuid, key text, revision bigint, data jsonb)
RETURNING id
"""
STORED = """
SELECT artifact_hash, a.original_key FROM serve.artifacts AS a JOIN serve.uploads AS u USING (artifact_hash)
 WHERE u.title = %s AND a.status = 'processing'
"""
DEAD = "SELECT id FROM process.jobs WHERE video_id = %s AND job_type = 'transcode' AND dead"
RETRY = "mutation ($id: ID!) { retryJobs(selection: {ids: [$id]}) { __typename } }"
JOB = "SELECT status, payload #>> '{error,type}' AS error FROM process.jobs WHERE id = %s"


async def rows(product: Product, query: Any, *values: Any) -> Any:
    [found] = await asyncio.to_thread(product.rows, query, *values)
    return found


async def enqueue(product: Product, job_type: str) -> Any:
    return (await rows(product, ENQUEUE, OPERATOR, job_type))["id"]


async def test_failures_are_grouped_retried_and_jobs_cancelled(product: Product, page: Page) -> None:
    waiting, failing = await enqueue(product, "clip_generate"), await enqueue(product, "sample")
    await page.goto("/jobs")
    await page.get_by_role("link", name="Cut clip: a deleted clip").wait_for()
    cause = page.get_by_role("link", name="Sample pictures: ToolBroke")
    await expect(cause).to_have_count(0)
    await rows(product, BEGIN, failing)
    await rows(product, FAIL, failing)
    await cause.wait_for()  # without a reload
    await page.get_by_role("button", name="Retry all: Sample pictures: ToolBroke").click()
    await expect(cause).to_have_count(0)

    await page.get_by_role("button", name="Cancel Cut clip: a deleted clip").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel job").click()
    await page.get_by_role("link", name="Cut clip: Cancelled").wait_for()
    await expect(page.get_by_role("button", name="Cancel Cut clip: a deleted clip")).to_have_count(0)
    assert await rows(product, JOB, waiting) == {"status": "failed", "error": "Cancelled"}

    await page.goto(f"/jobs/{failing}")
    again = page.get_by_role("region", name="History").get_by_role("listitem").filter(has_text="Failed → Waiting").last
    await expect(again).to_contain_text("retried by a user")
    await expect(again).to_contain_text(OPERATOR)


async def found(product: Product, query: Any, value: Any) -> Any:
    """What is there sooner or later."""
    return (await asyncio.to_thread(eventually, lambda: product.rows(query, value)))[0]


@pytest.mark.parametrize("by", ["command", "API", "page"])
async def test_from_dead_letter_to_playing(product: Product, page: Page, studio: Studio, by: str) -> None:
    """A video whose original was away fails for good; when it is back a retry makes it play, whoever asks for it."""
    title, free = f"Lost and found by {by}", b"\0\0\0\x10free" + by.encode().ljust(8)
    file = studio.write(f"{by}.mp4", studio.make(MP4).read_bytes() + free)  # nobody has seen these bytes
    with product.locked("process.videos"):  # nobody takes it on
        uploading = asyncio.create_task(asyncio.to_thread(product.upload, str(file), "--title", title))
        video = await found(product, STORED, title)
        await product.lose(f"videos/original/{UUID(video['artifact_hash'])}")
    code, told = await uploading
    assert code != 0, told
    await open_library(page)
    await row(page, title).get_by_role("link", name=title).click()
    retry = page.get_by_role("region", name="Processing").get_by_role("button", name="Retry: ")
    await retry.wait_for()
    dead = await found(product, DEAD, UUID(video["artifact_hash"]))
    await product.bring(video["original_key"], file)
    match by:
        case "command":
            code, told = await asyncio.to_thread(product.installation.run, "jobs", "retry", str(dead["id"]))
            assert (code, told["status"]) == (0, "queued"), told
        case "API":
            answer = await asyncio.to_thread(product.graphql, RETRY, id=str(dead["id"]))
            assert answer == {"retryJobs": {"__typename": "JobActs"}}
        case _:
            await retry.click()
    assert await watch(page, seconds=0.5, frames=6) > 100
    await expect(retry).to_have_count(0)
