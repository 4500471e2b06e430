"""What a video is, and whether browsers play it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .model import Probe
from .sandbox import Sandbox, Task
from .settings import child_limits, child_options


async def probe(sandbox: Sandbox, source: Path | int) -> Probe:
    """Raises `InvalidMedia` for what is not a whole video, `MediaLimitExceeded` for what is too much of one."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.probe_time)
    task = Task("probe", limits, asdict(child_options(settings)), source)
    return (await sandbox.run(task, Probe)).result
