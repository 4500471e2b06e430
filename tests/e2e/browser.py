"""What a person does with the page and sees of it."""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
from contextlib import suppress
from pathlib import Path

from playwright.async_api import ConsoleMessage, Error, Locator, Page, TimeoutError as TookTooLong

FLAGS = [
    "--no-sandbox",  # root has no other way
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")
DROP = """
({ name, content }) => {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: carried, bubbles: true, cancelable: true }));
  }
}
"""
TRIES = 3
LOADED = "() => document.querySelector('video')?.readyState >= 3"
PAUSED = "() => document.querySelector('video').paused"
PLAYED = """
([seconds, frames]) => {
  const video = document.querySelector("video");
  return video.currentTime >= seconds && video.getVideoPlaybackQuality().totalVideoFrames >= frames;
}
"""
# A browser that decoded nothing would paint one colour: none at all.
COLOURS = """
() => {
  const video = document.querySelector("video");
  const canvas = new OffscreenCanvas(64, 36).getContext("2d");
  canvas.drawImage(video, 0, 0, 64, 36);
  const pixels = new Uint32Array(canvas.getImageData(0, 0, 64, 36).data.buffer);
  return new Set(pixels).size;
}
"""


def find_chromium() -> str | None:
    """The machine's own; None leaves it to the one that `playwright install chromium` fetched."""
    found = (shutil.which(name) for name in NAMES)
    return os.environ.get("CHROMIUM") or next((path for path in found if path), None)


class Visit:
    """Listens to what the page complains of: errors, refused requests, policies that were broken."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", self._broke)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} {message.location['url']}".strip())

    def _broke(self, error: Error) -> None:
        self.complaints.append(str(error))


async def open_library(page: Page) -> None:
    await page.goto("/")
    await page.get_by_role("heading", name="Library").wait_for()


async def drop(page: Page, path: Path, name: str = "") -> None:
    """Drags a file onto the page."""
    content = base64.b64encode(await asyncio.to_thread(path.read_bytes)).decode()
    await page.evaluate(DROP, {"name": name or path.name, "content": content})


def row(page: Page, title: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("link", name=title, exact=True))


async def wait_until_ready(page: Page, title: str) -> None:
    await row(page, title).get_by_text("Ready", exact=True).wait_for()


async def watch(page: Page, *, seconds: float, frames: int) -> int:
    """Sees to it that the video plays until that much was seen; answers how many colours the last picture has."""
    await page.wait_for_function(LOADED)
    for _ in range(TRIES):
        if await page.evaluate(PAUSED):  # it may start by itself, also while we reach for the button
            await page.get_by_role("button", name="Play", exact=True).first.click()
        with suppress(TookTooLong):
            await page.wait_for_function(PLAYED, arg=[seconds, frames], timeout=20_000)
            return await page.evaluate(COLOURS)
    raise AssertionError("the video does not play")
