"""The README's pictures, taken of a demo that has just ended: `make pictures`.

It runs `touchline demo` in a data folder of its own, signs in by the link that the demo prints, and writes
docs/pictures.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from playwright.async_api import Page, ViewportSize, async_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "pictures"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SIZE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 400, "height": 860}
WAIT_MS = 60_000


async def take(page: Page, url: str, folder: Path, suffix: str) -> None:
    await page.goto(f"{url}/matches")
    goal = page.get_by_role("button", name="Play").first
    await goal.wait_for(timeout=WAIT_MS)
    await _save(page, folder / f"matches{suffix}.png")
    await page.goto(f"{url}/search?q=sorensen")
    await page.locator("mark").first.wait_for(timeout=WAIT_MS)
    await _save(page, folder / f"search{suffix}.png")
    await page.goto(f"{url}/sessions")
    await page.locator("main h2").first.wait_for(timeout=WAIT_MS)
    await _save(page, folder / f"sessions{suffix}.png")


async def _save(page: Page, file: Path) -> None:
    await page.wait_for_function("() => !document.querySelector('[aria-label^=Loading]')", timeout=WAIT_MS)
    await page.wait_for_load_state("networkidle")
    await page.screenshot(path=file, animations="disabled")
    sys.stderr.write(f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}\n")


async def main(folder: Path, *, every_look: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="touchline-pictures-") as data:
        environment = {**os.environ, "TOUCHLINE_DATA": data}
        command = [sys.executable, "-m", "touchline", "demo", "--no-open", "--json"]
        demo = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
        try:
            document = bytearray()
            while not _is_whole(document):
                if not demo.stdout or not (line := await demo.stdout.readline()):
                    raise SystemExit("pictures: the demo ended before it had played its day")
                document += line
            told = json.loads(document)
            await _browse(told["url"].removesuffix("/matches"), told["sign_in_link"], folder, every_look=every_look)
        finally:
            if demo.returncode is None:
                demo.send_signal(signal.SIGINT)
            await demo.wait()


def _is_whole(document: bytes | bytearray) -> bool:
    try:
        json.loads(document)
    except ValueError:
        return False
    return True


async def _browse(url: str, link: str, folder: Path, *, every_look: bool) -> None:
    from shutil import which

    async with async_playwright() as playwright:
        found = os.environ.get("CHROMIUM") or next(filter(None, map(which, CHROMIUM)), None)
        browser = await playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        context = await browser.new_context(viewport=SIZE, device_scale_factor=1)
        page = await context.new_page()
        await page.goto(link)
        await page.wait_for_url("**/matches*", timeout=WAIT_MS)
        await take(page, url, folder, "")
        if every_look:
            await page.emulate_media(color_scheme="dark")
            await take(page, url, folder, "-dark")
            await page.emulate_media(color_scheme="light")
            await page.set_viewport_size(NARROW)
            await take(page, url, folder, "-narrow")
        await browser.close()


if __name__ == "__main__":
    # With a folder: every look (light, dark, narrow) into it, to be looked at. Without: those of the README.
    into = Path(sys.argv[1]) if sys.argv[1:] else FOLDER
    into.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(into, every_look=bool(sys.argv[1:])))
