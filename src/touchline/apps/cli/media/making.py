"""`touchline media hls`, `poster` and `storyboard`: what is made of a video, in files."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, show, show_json

from .arguments import File, Folder
from .outputs import new_file, new_folder, percentages

if TYPE_CHECKING:
    from touchline.media.model import HlsPackage, Poster, Storyboard

Picture = Annotated[Path, typer.Argument(help="The picture to make, a new JPEG file.", show_default=False)]


def hls(file: File, folder: Folder, as_json: AsJson = False) -> None:
    """Make HLS of a video: copy what browsers play, encode the rest to several qualities."""
    with new_folder(folder) as draft:
        made = asyncio.run(_package(file, draft))
    if as_json:
        show_json(asdict(made))
        return
    show(f"playlist   {folder / made.master}")
    for each in sorted(made.renditions, key=lambda rendition: rendition.height, reverse=True):
        how = "copied" if each.copied else "encoded"
        rate = each.average_bits_per_second // 1000
        show(f"rendition  {each.name}, {each.width} x {each.height}, {rate} kbit/s, {each.segments} segments, {how}")
    for captions in made.captions:
        show(f"captions   {captions.language or 'of an unknown language'}, {captions.cues} cues")


def poster(file: File, picture: Picture, as_json: AsJson = False) -> None:
    """Make a picture that stands for a video, avoiding black, plain and blurred ones."""
    with new_file(picture) as draft:
        made = asyncio.run(_picture(file, draft))
    if as_json:
        show_json(asdict(made) | {"path": str(picture)})
        return
    show(f"poster     {picture}, {made.width} x {made.height}, from {made.position_ms / 1000:.3f} s")


def storyboard(file: File, folder: Folder, as_json: AsJson = False) -> None:
    """Make small pictures of a whole video for a seek bar: sheets, and WebVTT that says where each picture is."""
    with new_folder(folder) as draft:
        made = asyncio.run(_tiles(file, draft))
    if as_json:
        show_json(asdict(made))
        return
    tiled = made.tiled
    show(f"storyboard {folder / made.directions}")
    show(f"pictures   {tiled.tiles}, one for {tiled.interval_ms / 1000:g} s, {tiled.width} x {tiled.height}")
    show(f"sheets     {len(made.files) - 1}")


async def _package(file: Path, folder: Path) -> HlsPackage:
    from touchline.apps.settings import load
    from touchline.media.hls import make_hls
    from touchline.media.sandbox import Sandbox

    async with Sandbox(load().settings.media) as sandbox:
        return await make_hls(sandbox, file, folder, percentages())


async def _picture(file: Path, folder: Path) -> Poster:
    from touchline.apps.settings import load
    from touchline.media.poster import make_poster
    from touchline.media.sandbox import Sandbox

    async with Sandbox(load().settings.media) as sandbox:
        return await make_poster(sandbox, file, folder)


async def _tiles(file: Path, folder: Path) -> Storyboard:
    from touchline.apps.settings import load
    from touchline.media.sandbox import Sandbox
    from touchline.media.storyboard import make_storyboard

    async with Sandbox(load().settings.media) as sandbox:
        return await make_storyboard(sandbox, file, folder, percentages())
