"""Has the labelled set written by a maker of its own process."""

from __future__ import annotations

import os
from pathlib import Path

from touchline.platform.children import Child

from .library import MODULE, Progress


async def write_labelled(folder: Path, seed: int, progress: Progress) -> Path:
    """Where it says what is true."""
    child = await Child.start(MODULE)
    try:
        question = {"folder": os.fspath(folder), "labels": seed}
        await child.ask(question, lambda heard: progress(*heard))
    finally:
        await child.kill()
    return folder / "labels.json"
