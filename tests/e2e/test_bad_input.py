"""What is wrong with a file is said in the same words on the command line and on the page, and nothing stays behind."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from tests.integration.process.videos import make_clip
from tests.support.videos import MP4, SOUND_ONLY, Studio
from tests.support.wait import eventually

from .browser import open_library
from .product import Product

REGISTERED = "SELECT artifact_hash FROM serve.uploads WHERE file_name = ANY (%s)"
VIDEO = "query ($hash: String!) { video(artifactHash: $hash) { isPlayable isSearchable } }"
READ_WITHIN_S = 180.0  # the videos of other tests are read before it
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
    Bad("half.mp4", "invalid_input", "this video is incomplete"),
    Bad("sound.mp4", "invalid_input", "this file has no video stream"),
    Bad("match.exe", "invalid_input", "this file name cannot be used: its extension is not one of"),
    Bad("two\nlines.mp4", "invalid_input", "this file name cannot be used: it has unprintable characters"),
    Bad("huge.mp4", "limit_exceeded", "the file is too large"),
]


async def test_it_is_said_on_the_command_line_and_on_the_page(
    product: Product, page: Page, studio: Studio, tmp_path: Path
) -> None:
    paths = [await asyncio.to_thread(bad.file, studio, tmp_path) for bad in BAD]
    commands = (asyncio.to_thread(said_by_command, product, bad, path) for bad, path in zip(BAD, paths, strict=True))
    said = await asyncio.gather(*commands)
    await open_library(page)
    await page.locator("input[type=file]").first.set_input_files(paths)
    uploads = page.get_by_role("region", name="Uploads")
    await expect(uploads.get_by_role("alert")).to_have_count(len(BAD))
    alerts = [text.lower() for text in await uploads.get_by_role("alert").all_inner_texts()]
    for error in said:
        what, to_do = (error[name].lower().replace("`", "") for name in ("what", "next"))  # shown in another type
        assert any(what in alert and to_do in alert for alert in alerts), error
    await page.reload()
    await page.get_by_role("heading", name="Library").wait_for()
    await expect(uploads).to_have_count(0)
    for row in product.rows(REGISTERED, [path.name for path in paths]):
        assert await product.objects(f"videos/original/{UUID(row['artifact_hash'])}/") == []


def said_by_command(product: Product, bad: Bad, path: Path) -> dict[str, Any]:
    code, document = product.upload(str(path))
    assert (code, document["error"]["code"]) == (EXITS[bad.code], bad.code)
    assert document["error"]["what"].startswith(bad.what)
    return document["error"]


@pytest.mark.timeout(2 * READ_WITHIN_S)
async def test_one_picture_is_a_video_like_any_other(product: Product, tmp_path: Path) -> None:
    """All stages, in the product as it runs."""
    source = make_clip(tmp_path / "one.mp4", pictures=1)
    code, done = await asyncio.to_thread(product.upload, str(source), "--title", "One picture")
    assert code == 0, done
    is_ready = partial(is_searchable, product, done["artifact_hash"])
    await asyncio.to_thread(eventually, is_ready, READ_WITHIN_S)


def is_searchable(product: Product, artifact_hash: str) -> bool:
    found = product.graphql(VIDEO, hash=artifact_hash)["video"]
    return bool(found and found["isPlayable"] and found["isSearchable"])


async def test_a_file_that_is_not_there(product: Product) -> None:
    code, document = await asyncio.to_thread(product.upload, "/nowhere/match.mp4")
    assert (code, document["error"]["code"]) == (EXITS["invalid_input"], "invalid_input")
