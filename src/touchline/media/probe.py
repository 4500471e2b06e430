"""What a video is, and whether browsers play it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from touchline.media.child.boxes import boxes_between

from .model import Probe
from .sandbox import Sandbox, Task
from .settings import child_limits, child_options

HEAD_BYTES = 8 * 1024**2  # with the first pictures, also of a camera


async def probe(sandbox: Sandbox, source: Path | int) -> Probe:
    """Raises `InvalidMedia` for what is not a whole video, `MediaLimitExceeded` for what is too much of one."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.probe_time)
    task = Task("probe", limits, asdict(child_options(settings)), source)
    return (await sandbox.run(task, Probe)).result


def unprobed_range(descriptor: int) -> range | None:
    """What a probe need not have of a file, told by its first `HEAD_BYTES`: the rest of the samples of an MP4. The file
    has its full size already. None where all of it is needed, or may be."""
    size_bytes = os.fstat(descriptor).st_size
    boxes = boxes_between(descriptor, 0, size_bytes)
    first = next(boxes, None)
    if first is None or first.kind != b"ftyp":
        return None
    across = next((box for box in boxes if box.end > HEAD_BYTES), None)
    if across is None or across.kind != b"mdat" or not across.content <= HEAD_BYTES < across.end <= size_bytes:
        return None
    return range(HEAD_BYTES, across.end)
