"""HLS of a video: a master playlist and a folder for each rendition.

Where a rendition is complete before the others, so is a master playlist of it alone, `first.m3u8`.
Invariant: the caller's folder is its own until the package is complete; what failed half-way is the caller's to delete.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .model import MASTER, HlsPackage, Packaged
from .sandbox import Completed, Progress, Sandbox, Task
from .settings import child_limits, child_options


async def make_hls(
    sandbox: Sandbox,
    source: Path | int,
    folder: Path,
    progress: Progress | None = None,
    completed: Completed | None = None,
) -> HlsPackage:
    """Copies the streams that browsers play and encodes the others, into an empty folder.

    `completed` hears of files in an order that can be served: a master playlist comes after all that it names.
    """
    settings = sandbox.settings
    limits = child_limits(settings, settings.packaging_time)
    task = Task("hls", limits, asdict(child_options(settings)), source, folder, completed)
    outcome = await sandbox.run(task, Packaged, progress)
    made = outcome.result
    return HlsPackage(made.source, MASTER, made.renditions, outcome.files, made.sound, made.captions)
