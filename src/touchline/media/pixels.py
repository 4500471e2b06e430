"""Decoded pictures for the engines: plain pixels, of a picture file or of the samples of a video.

Invariant: what was decoded and not yet taken is bounded, however many pictures there are.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncGenerator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.kernel import Defect
from touchline.media.engines.model import CHANNELS, Picture

from .model import Decoded, DecodedPicture
from .sampling_rules import SampledPicture
from .sandbox import Sandbox, Task
from .settings import child_limits, child_options

MOST_BYTES = 256 * 1024**2  # of pixels at a time


async def decode_picture(sandbox: Sandbox, source: Path | int) -> Picture:
    """The first one of a picture file; phones hide more of them behind it."""
    with TemporaryDirectory(prefix="touchline-pixels-") as folder:
        [made] = await _decoded(sandbox, source, Path(folder), 1)
        return await asyncio.to_thread(_taken, Path(folder) / made.name, made, 0)


async def decode_samples(
    sandbox: Sandbox, folder: Path, samples: Sequence[SampledPicture], size: tuple[int, int]
) -> AsyncGenerator[Picture]:
    """The pictures that were sampled into a folder, all of one size."""
    most = max(1, MOST_BYTES // (size[0] * size[1] * CHANNELS))
    for start in range(0, len(samples), most):
        part = samples[start : start + most]
        with TemporaryDirectory(prefix="touchline-pixels-") as name:
            together, output = Path(name) / "pictures.jpg", Path(name) / "pixels"
            await asyncio.to_thread(_join, [folder / sample.name for sample in part], together)
            output.mkdir()
            decoded = await _decoded(sandbox, together, output, len(part))
            for sample, made in zip(part, decoded, strict=True):
                yield await asyncio.to_thread(_taken, output / made.name, made, sample.time_ms)


async def _decoded(sandbox: Sandbox, source: Path | int, output: Path, pictures: int) -> Sequence[DecodedPicture]:
    settings = sandbox.settings
    options = {**asdict(child_options(settings)), "pictures": pictures}
    task = Task("pixels", child_limits(settings, settings.poster_time), options, source, output)
    return (await sandbox.run(task, Decoded)).result.pictures


def _join(paths: Sequence[Path], target: Path) -> None:
    with target.open("wb") as joined:
        for path in paths:
            with path.open("rb") as picture:
                shutil.copyfileobj(picture, joined)


def _taken(path: Path, made: DecodedPicture, at_ms: int) -> Picture:
    pixels = path.read_bytes()
    path.unlink()
    if len(pixels) != made.width * made.height * CHANNELS:
        raise Defect("the image data does not match its size", why=f"{len(pixels)} bytes")
    return Picture(made.width, made.height, pixels, at_ms)
