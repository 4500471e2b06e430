"""All text of one file: a picture, or a video looked at in steps.

Every step is read, also one that looks like the one before: the reader compares more finely than a sampler, and needs
to see that something rests. It costs little.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from touchline.kernel.errors import LimitExceeded
from touchline.media.errors import NotAVideo
from touchline.media.pixels import decode_picture, decode_samples
from touchline.media.sampling import read_manifest, sample
from touchline.media.sampling_model import SampleOptions
from touchline.media.sandbox import Progress, Sandbox

from .following import begun, ended, follow
from .model import SeenText, TextReading
from .port import TextReader

EVERY_PICTURE = 1.0  # nothing is more alike than that
MOST_TEXTS = 200_000


async def read_file(
    sandbox: Sandbox, reader: TextReader, file: Path, interval_ms: int, progress: Progress | None = None
) -> TextReading:
    try:
        picture = await decode_picture(sandbox, file)
    except NotAVideo:
        return await _read_video(sandbox, reader, file, interval_ms, progress or _quietly)
    return TextReading(1, _in_order(begun(region) for region in await reader.read(picture)))


async def _read_video(
    sandbox: Sandbox, reader: TextReader, file: Path, interval_ms: int, progress: Progress
) -> TextReading:
    """Half of the progress is told while the pictures are taken, half while they are read."""
    done, standing = list[SeenText](), list[SeenText]()
    with TemporaryDirectory(prefix="touchline-samples-") as name:
        folder, stream = Path(name), uuid4().hex
        options = SampleOptions(interval_ms, EVERY_PICTURE)
        made = await sample(sandbox, file, folder, options, lambda percent: progress(percent // 2))
        samples = list(read_manifest(folder / made.manifest))
        pictures = decode_samples(sandbox, folder, samples, (made.width, made.height))
        async with aclosing(pictures):
            async for picture in pictures:
                standing, left = follow(standing, await reader.read(picture, stream), picture.at_ms)
                done += left
                _check(len(done))
                progress(min(99, 50 + 50 * picture.at_ms // max(1, made.source.duration_ms)))
    done += ended(standing, made.source.duration_ms)
    progress(100)
    return TextReading(len(samples), _in_order(done))


def _in_order(texts: Iterable[SeenText]) -> tuple[SeenText, ...]:
    return tuple(sorted(texts, key=lambda text: (text.start_ms, text.box.y, text.box.x)))


def _check(texts: int) -> None:
    if texts > MOST_TEXTS:
        hint = "Look at it in larger steps."
        raise LimitExceeded("there is too much text in this video", why=f"more than {MOST_TEXTS} lines", hint=hint)


def _quietly(percent: int) -> None:
    """Nobody asked for progress."""
