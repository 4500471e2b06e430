"""Small pictures of a whole video, for the seek bar: sheets of thumbnails, and WebVTT that says where each is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .model import STORYBOARD, Storyboard, Tiled
from .sandbox import Progress, Sandbox, Task
from .settings import child_limits, child_options


async def make_storyboard(
    sandbox: Sandbox, source: Path | int, folder: Path, progress: Progress | None = None
) -> Storyboard:
    """JPEGs and one `storyboard.vtt`, in an empty folder."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.storyboard_time)
    task = Task("storyboard", limits, asdict(child_options(settings)), source, folder)
    outcome = await sandbox.run(task, Tiled, progress)
    return Storyboard(STORYBOARD, outcome.result, outcome.files)
