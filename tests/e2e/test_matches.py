"""Matches on the page: a goal appears while somebody looks, its video plays in place, what VAR takes away is gone."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from uuid import UUID

from playwright.async_api import Page, expect

from tests.support import matches
from tests.support.matches import SEARCHING, Statement, announced, event_id, fixture_changed, goal_changed
from tests.support.videos import MP4, Studio

from .browser import watch
from .product import OPERATOR, Product

FIXTURE = 4200
TENANT = "SELECT tenant_id FROM access.users WHERE email = %s"
COUNT = "UPDATE watch.fixtures SET home_goals = 1 WHERE id = %(id)s RETURNING tenant_id"
FURTHER = "UPDATE watch.goals SET twitter_attempt = 5 WHERE event_id = %(id)s RETURNING tenant_id"


async def happens(product: Product, *statements: Statement) -> None:
    for statement in statements:
        await asyncio.to_thread(product.rows, statement.text, statement.values)


async def tenant_of(product: Product) -> UUID:
    [row] = await asyncio.to_thread(product.rows, TENANT, OPERATOR)
    return row["tenant_id"]


async def test_a_goal_appears_plays_and_is_taken_away(product: Product, page: Page, studio: Studio) -> None:
    tenant, named, now = await tenant_of(product), event_id(FIXTURE), datetime.now(UTC)
    code, done = await asyncio.to_thread(product.upload, str(studio.make(MP4)), "--title", "Saka, 1-0")
    assert code == 0, done
    await page.goto("/matches")
    await page.get_by_role("heading", name="No matches are watched yet").wait_for()
    changed = announced(tenant, fixture_changed(FIXTURE))
    await happens(product, matches.match(tenant, FIXTURE, kick_off=now, status="NS", elapsed=None), changed)
    card = page.get_by_role("article").filter(has_text="Arsenal")
    await card.wait_for()  # without a reload
    goal = card.get_by_role("listitem").filter(has_text="B. Saka")
    await expect(goal).to_have_count(0)

    scored = matches.goal(tenant, FIXTURE, named, first_seen=now, **SEARCHING)
    await happens(product, scored, Statement(COUNT, {"id": FIXTURE}), announced(tenant, goal_changed(named, "seen")))
    await expect(goal.get_by_text("Searching, attempt 4 of 10")).to_be_visible()
    await expect(card.get_by_role("heading")).to_have_text("Arsenal1\u20130Liverpool")
    kept = matches.video(tenant, named, done["artifact_hash"])
    await happens(product, kept, Statement(FURTHER, {"id": named}), announced(tenant, goal_changed(named, "searching")))
    await expect(goal.get_by_text("Searching, attempt 5 of 10")).to_be_visible()
    await goal.get_by_role("button", name="Play video 1").click()
    assert await watch(page, seconds=1, frames=10) > 100

    gone = announced(tenant, goal_changed(named, "removed"), 2)
    await happens(product, matches.remove(tenant, named), gone)
    await expect(goal).to_have_count(0)
    await expect(page.locator("video")).to_have_count(0)
