"""One running product, one real browser, and the page in it for each test."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.support.videos import Studio

from .browser import FLAGS, Visit, find_chromium
from .product import Product, running_product, unpack_wheel

TIMEOUT_MS = 60_000  # a busy machine is no finding

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Generator[Product]:
    with running_product(unpack_wheel(tmp_path_factory.mktemp("wheel"))) as product:
        yield product


@pytest.fixture(scope="session")
async def browser() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def signed_in(browser: Browser, product: Product) -> AsyncGenerator[BrowserContext]:
    """By the link that the first start shows, as a person would."""
    context = await browser.new_context(base_url=product.url, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(TIMEOUT_MS)
    page = await context.new_page()
    await page.goto(product.sign_in_link)
    await page.get_by_role("heading", name="Library").wait_for()
    await page.close()
    yield context
    await context.close()


@pytest.fixture
async def page(signed_in: BrowserContext) -> AsyncGenerator[Page]:
    """Nothing that goes wrong in it is overlooked."""
    page = await signed_in.new_page()
    visit = Visit(page)
    yield page
    await page.close()
    assert visit.complaints == []


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Studio:
    return Studio(tmp_path_factory.mktemp("videos"))
