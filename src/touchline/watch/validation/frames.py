"""Pictures of a stranger's video at given places: the sandbox makes them, nobody else opens the file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.kernel.errors import Defect
from touchline.media.sampling import SHORTEST_STEP_MS, read_manifest, sample
from touchline.media.sampling_model import SampleOptions
from touchline.media.sandbox import Sandbox

from .model import Frame

EVERY_PICTURE = 1.0  # nothing is more alike than that
QUARTERS = 4


class Frames:
    """One at each quarter of the video."""

    def __init__(self, frames: list[Frame], duration_ms: int) -> None:
        self._frames = frames
        self._duration_ms = duration_ms

    def at(self, percent: int) -> Frame:
        wanted = self._duration_ms * percent / 100
        return min(self._frames, key=lambda frame: abs(frame.at_ms - wanted))


@asynccontextmanager
async def taken(
    sandbox: Sandbox, path: Path, duration_ms: int, progress: Callable[[int], None]
) -> AsyncGenerator[Frames]:
    """As long as the block runs."""
    with TemporaryDirectory(prefix="touchline-frames-") as name:
        folder = Path(name)
        options = SampleOptions(max(duration_ms // QUARTERS, SHORTEST_STEP_MS), EVERY_PICTURE)
        made = await sample(sandbox, path, folder, options, progress)
        listed = read_manifest(folder / made.manifest)
        frames = [Frame(folder / each.name, each.time_ms, folder.name) for each in listed]
        if not frames:
            raise Defect("a video was sampled without a picture")
        yield Frames(frames, duration_ms)
