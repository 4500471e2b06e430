"""What is wrong with a file is said in the same words on the command line and on the page, and nothing stays behind."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.e2e.browsing import open_library
from tests.e2e.product import Product
from tests.support.videos import MP4, SOUND_ONLY, Studio

EXITS = {"invalid_input": 2, "limit_exceeded": 6}


@dataclass(frozen=True)
class Bad:
    name: str
    code: str
    what: str

    def file(self, studio: Studio, folder: Path) -> Path:
        path = folder / self.name
        path.write_bytes(self._content(studio))
        if self.name == "huge.mp4":
            os.truncate(path, 101 * 1024**2)  # takes no room on the disk
        return path

    def _content(self, studio: Studio) -> bytes:
        match self.name:
            case "empty.mp4":
                return b""
            case "text.mp4":
                return b"This is not a video. " * 100
            case "half.mp4":
                return studio.cut(MP4, 0.5).read_bytes()
            case "sound.mp4":
                return studio.make(SOUND_ONLY).read_bytes()
            case _:
                return studio.make(MP4).read_bytes()


BAD = [
    Bad("empty.mp4", "invalid_input", "the file is empty"),
    Bad("text.mp4", "invalid_input", "this is not a video"),
    Bad("half.mp4", "invalid_input", "this video is not whole"),
    Bad("sound.mp4", "invalid_input", "this video has no pictures"),
    Bad("match.exe", "invalid_input", "this file name cannot be used: its ending is none of"),
    Bad("two\nlines.mp4", "invalid_input", "this file name cannot be used: it has characters"),
    Bad("huge.mp4", "limit_exceeded", "the file is too large"),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad.name))
async def test_it_is_said_on_the_command_line_and_on_the_page(
    product: Product, page: Page, studio: Studio, tmp_path: Path, bad: Bad
) -> None:
    path = await asyncio.to_thread(bad.file, studio, tmp_path)
    code, document = await asyncio.to_thread(product.upload, str(path))
    error = document["error"]
    assert (code, error["code"]) == (EXITS[bad.code], bad.code)
    assert error["what"].startswith(bad.what)
    await open_library(page)
    await page.locator("input[type=file]").first.set_input_files(path)
    alert = page.get_by_role("region", name="Uploads").get_by_role("alert")
    await alert.wait_for()
    said = (await alert.inner_text()).lower()
    assert error["what"].lower() in said
    assert error["next"].lower() in said
    await page.reload()
    await page.get_by_role("heading", name="Library").wait_for()
    await expect(page.get_by_role("region", name="Uploads")).to_have_count(0)
    for row in product.rows("SELECT artifact_hash FROM serve.uploads WHERE file_name = %s", path.name):
        assert await product.objects(f"videos/original/{UUID(row['artifact_hash'])}/") == []


async def test_a_file_that_is_not_there(product: Product) -> None:
    code, document = await asyncio.to_thread(product.upload, "/nowhere/match.mp4")
    assert (code, document["error"]["code"]) == (EXITS["invalid_input"], "invalid_input")
