"""`touchline media sample`: the pictures of a video that are worth reading."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from touchline.apps.cli.output import AsJson, show, show_json

from .arguments import File, Folder
from .outputs import new_folder, percentages
from .times import milliseconds

if TYPE_CHECKING:
    from touchline.media.sampling_model import SampleOptions, SampleSet

Every = Annotated[int, typer.Option("--every", help="The step: seconds or mm:ss.", parser=milliseconds, metavar="TIME")]
Similarity = Annotated[
    float, typer.Option("--similarity", help="Pictures that are more alike are left out; 1 keeps all.", min=0, max=1)
]


def sample(
    file: File, folder: Folder, every: Every = 100, similarity: Similarity = 0.95, as_json: AsJson = False
) -> None:
    """Write the pictures that show something new, named by their time in milliseconds, and a list of them."""
    from touchline.media.sampling_model import SampleOptions

    made = asyncio.run(_made(file, folder, SampleOptions(every, similarity)))
    if as_json:
        facts = {"width": made.width, "height": made.height, "examined": made.examined, "kept": made.kept}
        show_json({"folder": str(folder), "manifest": str(folder / made.manifest), **facts})
        return
    show(f"{folder}: {made.kept} of {made.examined} pictures kept, {made.width} x {made.height}")


async def _made(file: Path, folder: Path, wanted: SampleOptions) -> SampleSet:
    from touchline.apps.settings import load
    from touchline.media.sampling import sample
    from touchline.media.sandbox import Sandbox

    async with Sandbox(load().settings.media) as sandbox:
        with new_folder(folder) as empty:
            return await sample(sandbox, file, empty, wanted, percentages())
