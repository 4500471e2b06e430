"""What a video is played with: HLS, the poster that stands for it, and the storyboard of its seek bar.

HLS is a master playlist and a folder for each rendition. Where a rendition is complete before the others, so is a
master playlist of it alone, `first.m3u8`.
Invariant: the caller's folder is its own until the package is complete; what failed half-way is the caller's to delete.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from touchline.kernel import Defect

from . import model
from .sandbox import Completed, Progress, Sandbox, Task
from .settings import child_limits, child_options


async def make_hls(
    sandbox: Sandbox,
    source: Path | int,
    folder: Path,
    progress: Progress | None = None,
    completed: Completed | None = None,
) -> model.HlsPackage:
    """Copies the streams that browsers play and encodes the others, into an empty folder.

    `completed` hears of files in an order that can be served: a master playlist comes after all that it names.
    """
    settings = sandbox.settings
    limits = child_limits(settings, settings.packaging_time)
    task = Task("hls", limits, asdict(child_options(settings)), source, folder, completed)
    outcome = await sandbox.run(task, model.Packaged, progress)
    made = outcome.result
    return model.HlsPackage(made.source, model.MASTER, made.renditions, outcome.files, made.sound, made.captions)


# The picture that stands for a video.


async def make_poster(sandbox: Sandbox, source: Path | int, folder: Path) -> model.Poster:
    """A JPEG in an empty folder, and smaller ones beside it where it is wide enough."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.poster_time)
    task = Task("poster", limits, asdict(child_options(settings)), source, folder)
    outcome = await sandbox.run(task, model.Chosen)
    written = next((file for file in outcome.files if file.path == model.POSTER), None)
    if written is None:
        raise Defect("the poster is missing from the output")
    chosen, names = outcome.result, {model.smaller_poster(model.POSTER, width) for width in model.POSTER_WIDTHS}
    smaller = tuple(file for file in outcome.files if file.path in names)
    return model.Poster(model.POSTER, chosen.width, chosen.height, written.size_bytes, chosen.position_ms, smaller)


# Small pictures of a whole video, for the seek bar: sheets of thumbnails, and WebVTT that says where each is.


async def make_storyboard(
    sandbox: Sandbox, source: Path | int, folder: Path, progress: Progress | None = None
) -> model.Storyboard:
    """JPEGs and one `storyboard.vtt`, in an empty folder."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.storyboard_time)
    task = Task("storyboard", limits, asdict(child_options(settings)), source, folder)
    outcome = await sandbox.run(task, model.Tiled, progress)
    return model.Storyboard(model.STORYBOARD, outcome.result, outcome.files)
