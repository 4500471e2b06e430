"""Storage on the page: what lies where, what is deleted and comes back, and one artifact's history with who did it."""

from __future__ import annotations

import re

from playwright.async_api import Page, ViewportSize, expect

from tests.support.videos import MP4, Studio

from .product import Product

WIDE, NARROW = ViewportSize(width=1280, height=800), ViewportSize(width=360, height=740)


def uploaded(product: Product, studio: Studio, name: str) -> str:
    code, done = product.upload(str(studio.write(f"{name}.mp4", studio.make(MP4).read_bytes())))
    assert code == 0, done
    return done["artifact_hash"]


async def test_an_artifact_is_found_deleted_and_brought_back_with_its_history(
    page: Page, product: Product, studio: Studio
) -> None:
    stored = uploaded(product, studio, "kept in storage")
    await page.goto("/")
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Storage").click()
    await expect(page).to_have_url(re.compile("/storage$"))
    await expect(page.get_by_role("heading", name="Storage", level=1)).to_be_visible()
    sums = page.get_by_label("Storage by place")
    await expect(sums).to_contain_text("Object store")
    installation = page.get_by_role("region", name="The installation")
    await expect(installation).to_contain_text("All tenants")  # the first user is an operator

    row = page.get_by_role("listitem").filter(has_text="kept in storage")
    await expect(row).to_contain_text(re.compile("expires in .* days"))
    await expect(row).to_contain_text("Object store")
    await page.get_by_role("navigation", name="Places").get_by_role("link", name="Deleted").click()
    await expect(page).to_have_url(re.compile("place=deleted"))
    await expect(row).to_have_count(0)

    await product.delete(stored)  # by somebody else: the page hears of it
    await expect(row).to_contain_text("purged in")
    await row.get_by_role("link", name="kept in storage").focus()
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/storage/{stored}$"))
    history = page.get_by_role("list", name="History").get_by_role("listitem")
    await expect(history.first).to_contain_text("Deleted")
    await expect(history.first).to_contain_text(re.compile("by (a token of )?Administrator|by a token of"))
    await expect(history.last).to_contain_text("Registered")
    await expect(history.filter(has_text="Stored in the object store")).to_have_count(1)

    await page.get_by_role("button", name="Undelete").click()
    await expect(page.get_by_text("“kept in storage” was restored.")).to_be_visible()
    await expect(history.filter(has_text="Undeleted")).to_have_count(1)
    await expect(history.filter(has_text="Undeleted")).to_contain_text("by ")
    await expect(page.get_by_role("button", name="Undelete")).to_have_count(0)
    await expect(page.get_by_role("link", name="Open the player")).to_be_visible()


async def test_it_fits_a_telephone_in_the_dark(page: Page, product: Product, studio: Studio) -> None:
    stored = uploaded(product, studio, "a video with a name that is longer than a telephone is wide, so it breaks")
    await page.emulate_media(color_scheme="dark")
    try:
        await page.set_viewport_size(NARROW)
        for address, shown in (("/storage", "Storage by place"), (f"/storage/{stored}", "History")):
            await page.goto(address)
            await expect(page.get_by_label(shown).first).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    finally:
        await page.set_viewport_size(WIDE)
        await page.emulate_media(color_scheme="light")


async def test_what_is_not_there_is_said(page: Page) -> None:
    await page.goto(f"/storage/{'0' * 32}")
    await expect(page.get_by_text("Artifact not found")).to_be_visible()
    await page.goto("/storage?place=pinned")
    await expect(page.get_by_text("No artifact is stored there.")).to_be_visible()
