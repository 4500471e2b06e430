"""HLS of a video: a master playlist and a folder for each rendition.

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
    """Copies the streams that browsers play and encodes the others, into an empty folder."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.packaging_time)
    task = Task("hls", limits, asdict(child_options(settings)), source, folder, completed)
    outcome = await sandbox.run(task, Packaged, progress)
    return HlsPackage(outcome.result.source, MASTER, outcome.result.renditions, outcome.files)
