"""What can be asked of the sandbox: to probe, package, cut, sample and decode a video.

What a video is, and whether browsers play it.

What a video is played with: HLS, the poster that stands for it, and the storyboard of its seek bar.

HLS is a master playlist and a folder for each rendition. Where a rendition is complete before the others, so is a
master playlist of it alone, `first.m3u8`.
Invariant: the caller's folder is its own until the package is complete; what failed half-way is the caller's to delete.

A part of a video, exact to the picture, as an MP4 file.

The source is a file, or segments of one video that are complete or still being recorded; see `segments`.

The pictures of a video that are worth reading, as JPEGs named by their time in milliseconds.

Invariant: the manifest names every picture, in the order of time; a 3 h video needs no more memory than a short one.

Decoded pictures for the engines: plain pixels, of a picture file or of the samples of a video.

Invariant: what was decoded and not yet taken is bounded, however many pictures there are.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from touchline.kernel import Defect, InvalidInput
from touchline.media.child.boxes import boxes_between
from touchline.media.engines.model import CHANNELS, Picture

from . import model
from .rules import (
    CLIP,
    MANIFEST,
    ClipFile,
    ClipOptions,
    ClipRange,
    Cut,
    Sampled,
    SampledPicture,
    SampleOptions,
    SampleSet,
)
from .sandbox import Completed, Progress, Sandbox, Task
from .segments import SegmentSource, gathered
from .settings import child_limits, child_options

HEAD_BYTES = 8 * 1024**2  # with the first pictures, also of a camera


async def probe(sandbox: Sandbox, source: Path | int) -> model.Probe:
    """Raises `InvalidMedia` for what is not a whole video, `MediaLimitExceeded` for what is too much of one."""
    settings = sandbox.settings
    limits = child_limits(settings, settings.probe_time)
    task = Task("probe", limits, asdict(child_options(settings)), source)
    return (await sandbox.run(task, model.Probe)).result


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


async def make_clip(
    sandbox: Sandbox,
    source: Path | int | SegmentSource,
    folder: Path,
    wanted: ClipRange,
    progress: Progress | None = None,
) -> ClipFile:
    """Into an empty folder. Raises `EmptyRange` where the source has no pictures."""
    _check_range(wanted)
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


def _check_range(wanted: ClipRange) -> None:
    if wanted.end_ms <= wanted.start_ms:
        raise InvalidInput("a clip must end after its start", field="end_ms")
    if wanted.end_ms <= 0 or wanted.padding_ms < 0:
        raise InvalidInput(
            "the times of a clip must not be negative", field="end_ms" if wanted.end_ms <= 0 else "padding_ms"
        )


SHORTEST_STEP_MS = 10
USUAL = SampleOptions()


async def sample(
    sandbox: Sandbox,
    source: Path | int,
    folder: Path,
    wanted: SampleOptions = USUAL,
    progress: Progress | None = None,
    completed: Completed | None = None,
) -> SampleSet:
    """Into an empty folder. `completed` hears of each picture as soon as it is whole."""
    _check_step(wanted)
    settings = sandbox.settings
    limits = child_limits(settings, settings.sampling_time)
    options = {**asdict(child_options(settings)), "sampling": asdict(wanted)}
    task = Task("sample", limits, options, source, folder, completed)
    outcome = await sandbox.run(task, Sampled, progress)
    said = outcome.result
    return SampleSet(said.source, said.width, said.height, said.examined, said.kept, MANIFEST, outcome.files)


def read_manifest(path: Path) -> Iterator[SampledPicture]:
    with path.open() as lines:
        for line in lines:
            yield SampledPicture(**json.loads(line))


def _check_step(wanted: SampleOptions) -> None:
    if wanted.every_ms < SHORTEST_STEP_MS:
        raise InvalidInput(f"the interval between samples must be at least {SHORTEST_STEP_MS} ms", field="every_ms")
    if not 0 <= wanted.threshold <= 1:
        raise InvalidInput("the similarity threshold must be between 0 and 1", field="threshold")


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


async def _decoded(sandbox: Sandbox, source: Path | int, output: Path, pictures: int) -> Sequence[model.DecodedPicture]:
    settings = sandbox.settings
    options = {**asdict(child_options(settings)), "pictures": pictures}
    task = Task("pixels", child_limits(settings, settings.poster_time), options, source, output)
    return (await sandbox.run(task, model.Decoded)).result.pictures


def _join(paths: Sequence[Path], target: Path) -> None:
    with target.open("wb") as joined:
        for path in paths:
            with path.open("rb") as picture:
                shutil.copyfileobj(picture, joined)


def _taken(path: Path, made: model.DecodedPicture, at_ms: int) -> Picture:
    pixels = path.read_bytes()
    path.unlink()
    if len(pixels) != made.width * made.height * CHANNELS:
        raise Defect("the image data does not match its size", why=f"{len(pixels)} bytes")
    return Picture(made.width, made.height, pixels, at_ms)
