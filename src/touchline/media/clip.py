"""A part of a video, exact to the picture, as an MP4 file.

The source is a file, or segments of one video that are complete or still being recorded; see `segments`.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from touchline.kernel import Defect, InvalidInput

from .clip_rules import CLIP, ClipFile, ClipOptions, ClipRange, Cut
from .sandbox import Progress, Sandbox, Task
from .segments import SegmentSource, gathered
from .settings import child_limits, child_options


async def make_clip(
    sandbox: Sandbox,
    source: Path | int | SegmentSource,
    folder: Path,
    wanted: ClipRange,
    progress: Progress | None = None,
) -> ClipFile:
    """Into an empty folder. Raises `EmptyRange` where the source has no pictures."""
    _check(wanted)
    if isinstance(source, SegmentSource):
        async with gathered(source, wanted, folder) as (descriptor, first_us):
            return await _cut(sandbox, descriptor, folder, _options(wanted, first_us), progress)
    return await _cut(sandbox, source, folder, _options(wanted, None), progress)


async def _cut(
    sandbox: Sandbox, source: Path | int, folder: Path, clip: ClipOptions, progress: Progress | None
) -> ClipFile:
    settings = sandbox.settings
    limits = child_limits(settings, settings.clip_time)
    options = {**asdict(child_options(settings)), "clip": asdict(clip)}
    outcome = await sandbox.run(Task("clip", limits, options, source, folder), Cut, progress)
    written = next((file for file in outcome.files if file.path == CLIP), None)
    if written is None:
        raise Defect("the clip is missing from the output")
    return ClipFile(CLIP, written.size_bytes, outcome.result)


def _options(wanted: ClipRange, first_us: int | None) -> ClipOptions:
    return ClipOptions(wanted.padded_start_ms, wanted.padded_end_ms, first_us)


def _check(wanted: ClipRange) -> None:
    if wanted.end_ms <= wanted.start_ms:
        raise InvalidInput("a clip must end after its start", field="end_ms")
    if wanted.end_ms <= 0 or wanted.padding_ms < 0:
        raise InvalidInput(
            "the times of a clip must not be negative", field="end_ms" if wanted.end_ms <= 0 else "padding_ms"
        )
