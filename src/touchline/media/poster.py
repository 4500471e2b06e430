"""The picture that stands for a video."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from touchline.kernel.errors import Defect

from .model import POSTER, POSTER_WIDTHS, Chosen, Poster, smaller_poster
from .sandbox import Sandbox, Task
from .settings import child_limits, child_options


async def make_poster(sandbox: Sandbox, source: Path | int, folder: Path) -> Poster:
    """A JPEG in an empty folder, and smaller ones beside it where it is wide enough."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.poster_time)
    task = Task("poster", limits, asdict(child_options(settings)), source, folder)
    outcome = await sandbox.run(task, Chosen)
    written = next((file for file in outcome.files if file.path == POSTER), None)
    if written is None:
        raise Defect("a child made a poster that is not there")
    chosen, names = outcome.result, {smaller_poster(POSTER, width) for width in POSTER_WIDTHS}
    smaller = tuple(file for file in outcome.files if file.path in names)
    return Poster(POSTER, chosen.width, chosen.height, written.size_bytes, chosen.position_ms, smaller)
