"""Sessions on the page: the real log's figures, from every chart to its rows, and one session drawn."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.support.sessions import REAL_LOG, happened, metrics, status, trace
from tests.support.wait import eventually
from touchline.measure.sessions import model

from .product import TIMEOUT_S, Product

# The day of the real log, and a later one for a session of our own.
DAY = "from=2026-01-08T00:00:00Z&to=2026-01-09T00:00:00Z"
NEXT = "from=2026-01-09T00:00:00Z&to=2026-01-10T00:00:00Z"
NOON = 1_767_960_000_000  # 2026-01-09
SWAPPED = ("swapped stream", "request/1")
UNREADABLE = {"id": "q-1", "type": "stream_trace", "timestamp": NOON, "data": 7}
DELIVERED = """
query {
  workflowSessionsConnection(filter: { from: "2026-01-08T00:00:00Z", to: "2026-01-10T00:00:00Z" }) { totalCount }
}
"""
FIRST, SECOND = "0xaa00000000000000000000000000000000000001", "0xbb00000000000000000000000000000000000002"


def swapped_session() -> list[dict[str, Any]]:
    """It begins well, gets new parameters that make it faster, changes its orchestrator and is closed."""

    def at(seconds: float) -> int:
        return NOON + round(seconds * 1000)

    def ran(second: int, address: str, fps: float) -> list[dict[str, Any]]:
        of_track = {"track_stats": [{"type": "video", "jitter": 9.5}]}
        facts = {"inference_status": {"fps": fps}, "address": address, "session": SWAPPED, "start_time": at(1)}
        jitter = metrics(f"m-{second}", at(second), stats=of_track, session=SWAPPED)
        return [status(f"s-{second}", at(second), **facts), jitter]

    return [
        trace("t-0", at(0), model.STREAM_REQUEST, session=SWAPPED),
        trace("t-1", at(1), model.FIRST_PROCESSED, session=SWAPPED, address=FIRST),
        trace("t-2", at(2), model.PLAYABLE, session=SWAPPED, address=FIRST),
        *[event for second in range(5, 30, 5) for event in ran(second, FIRST, 15)],
        happened("p-1", at(30), "params_update", session=SWAPPED, params={"prompt": "a stadium at night"}),
        *[event for second in range(31, 60, 5) for event in ran(second, FIRST, 24)],
        *[event for second in range(60, 90, 5) for event in ran(second, SECOND, 24)],
        trace("t-3", at(90), model.CLOSED, session=SWAPPED),
    ]


@pytest.fixture(scope="module")
def delivered(product: Product) -> None:
    lines = "\n".join(json.dumps(event) for event in [*swapped_session(), UNREADABLE])
    for body in (REAL_LOG.read_text(), lines):
        headers = {"Authorization": f"Bearer {product.token}"}
        httpx.post(f"{product.url}/events", content=body, headers=headers, timeout=TIMEOUT_S).raise_for_status()
    eventually(lambda: product.graphql(DELIVERED)["workflowSessionsConnection"]["totalCount"] == 2)


@pytest.mark.usefixtures("delivered")
async def test_every_chart_leads_to_its_rows(page: Page) -> None:
    await page.goto(f"/sessions?{DAY}")
    figures = page.get_by_role("list", name="Figures")
    await expect(figures).to_contain_text("2,655 ms")
    await expect(figures.get_by_role("listitem").filter(has_text="Success")).to_contain_text("100%")

    bars = page.get_by_role("group", name="Outcome over time").get_by_role("link")
    await expect(bars).to_have_count(1)
    await expect(bars).to_have_accessible_name(re.compile("1 session, success 1"))
    await bars.click()
    rows = page.get_by_role("list", name="Sessions").get_by_role("listitem")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("2,655 ms")
    await expect(rows).to_contain_text("105 ms")
    await expect(rows).to_contain_text("6,435 ms")

    await page.go_back()
    await page.get_by_role("group", name="Startup: sessions by latency").get_by_role("link").press("Enter")
    await expect(rows).to_have_count(1)
    await page.get_by_role("button", name=re.compile("Remove filter: Startup")).click()
    await page.get_by_role("link", name="Overview").click()
    breakdown = page.get_by_role("region", name="Breakdown")
    await breakdown.get_by_role("button", name="Orchestrator").click()
    await page.get_by_role("row", name=re.compile("0x52cf29")).get_by_role("link").click()
    await expect(page.get_by_role("list", name="Filters in use")).to_contain_text("Orchestrator: 0x52cf29")
    await expect(rows).to_have_count(1)
    async with page.expect_download() as saving:
        await page.get_by_role("button", name="CSV").click()
    saved = await asyncio.to_thread((await (await saving.value).path()).read_text)
    assert saved.count("db936fab") >= 1

    await page.get_by_role("link", name="Ingest").click()
    await page.get_by_role("link", name="Hour").click()
    await page.get_by_role("link", name="Wrong shape of data").click()
    await expect(page.get_by_role("region", name="Quarantined events")).to_contain_text("Wrong shape of data")

    await page.goto(f"/sessions?{DAY}")
    await page.get_by_role("button", name="Hour of day").click()
    await expect(page.get_by_role("row", name=re.compile("^21:00 UTC 1 "))).to_be_visible()


@pytest.mark.usefixtures("delivered")
async def test_one_session_is_drawn_and_told(page: Page) -> None:
    await page.goto(f"/sessions?view=rows&swapped=yes&{NEXT}")
    await page.get_by_role("link", name="swapped stream · request/1").click()
    await page.get_by_role("heading", name="swapped stream · request/1").wait_for()
    drawn = page.get_by_role("group", name="Timeline")
    for name in ("Segment 1: 0xaa0000…000001", "Segment 2: 0xbb0000…000002"):
        await expect(drawn.get_by_role("button", name=name)).to_be_visible()
    change = drawn.get_by_role("button", name=re.compile("Parameters changed: 15 → 24 FPS"))
    await drawn.get_by_role("button").first.focus()
    await page.keyboard.press("End")
    await expect(change).to_be_focused()
    await expect(page.get_by_role("status").filter(has_text="Parameters changed")).to_be_visible()
    await expect(page.get_by_role("img", name="Output from 15 FPS to 24 FPS")).to_be_visible()
    await expect(page.get_by_role("region", name="Parameter changes")).to_contain_text("15 → 24")
    told = page.get_by_role("region", name="What happened").get_by_role("row")
    await expect(told.filter(has_text="+1,000 ms")).to_contain_text("First processed segment back")
