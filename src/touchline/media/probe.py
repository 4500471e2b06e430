"""What a video is, and whether browsers play it."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import asdict
from pathlib import Path

from .model import Probe
from .sandbox import Sandbox, Task
from .settings import child_limits, child_options


async def probe(sandbox: Sandbox, source: Path | int, ready: Awaitable[None] | None = None) -> Probe:
    """Raises `InvalidMedia` for what is not a whole video, `MediaLimitExceeded` for what is too much of one.

    `ready`: when a source is whole that is locked until then.
    """
    settings = sandbox.settings
    limits = child_limits(settings, settings.probe_time)
    task = Task("probe", limits, asdict(child_options(settings)), source, ready=ready)
    return (await sandbox.run(task, Probe)).result
