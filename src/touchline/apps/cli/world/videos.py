"""`touchline world videos`: draw all videos of a day before anybody asks for them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, progress, show, show_json

if TYPE_CHECKING:
    from touchline.world.days.model import Day

Seed = Annotated[int, typer.Option("--seed", help="Which generated day.")]
Script = Annotated[Path | None, typer.Option("--script", help="A day that you wrote, instead of a generated one.")]
Folder = Annotated[Path | None, typer.Option("--folder", help="Where they go; else the cache of this installation.")]
Labels = Annotated[bool, typer.Option("--labels", help="Write a set with all that is true of it, to measure with.")]


def videos(
    seed: Seed = 1,
    script: Script = None,
    folder: Folder = None,
    labels: Labels = False,
    as_json: AsJson = False,
) -> None:
    """Draw the videos of a day. What is there already stays; the first time takes a minute or two."""
    where = folder or cache()
    if labels:
        found = asyncio.run(_labelled(where, seed))
        document, line = {"folder": where, "labels": found}, f"labelled videos are in {where}, what is true in {found}"
    else:
        count, place = asyncio.run(_prepared(_day(seed, script), where))
        document, line = {"folder": place, "files": count}, f"{count} videos are in {place}"
    if as_json:
        show_json(document)
    else:
        show(line)


async def _prepared(day: Day, folder: Path) -> tuple[int, Path]:
    from touchline.world.videos.library import Library
    from touchline.world.videos.wanted import recipes_of

    recipes = recipes_of(day)
    async with Library(folder) as library:
        await library.prepare(recipes, lambda done, of: progress(f"{done} of {of} videos"))
        return len(recipes), library.folder


async def _labelled(folder: Path, seed: int) -> Path:
    from touchline.world.videos.labelling import write_labelled

    return await write_labelled(folder, seed, lambda done, of: progress(f"{done} of {of} clips"))


def _day(seed: int, script: Path | None) -> Day:
    from touchline.world.days.building import build
    from touchline.world.days.generating import Knobs, generate
    from touchline.world.days.loading import read_day

    return build(generate(Knobs(seed=seed))) if script is None else read_day(script)[1]


def cache() -> Path:
    from touchline.apps import wiring
    from touchline.apps.settings import load

    return wiring.data_folder(load()).root / "world" / "videos"
