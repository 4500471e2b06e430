"""All text of one file: a picture, or a video looked at in steps.

Every step is read, also one that looks like the one before: the reader compares more finely than a sampler, and needs
to see that something rests. It costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from touchline.kernel import LimitExceeded
from touchline.media.errors import NotAVideo
from touchline.media.rules import SampleOptions
from touchline.media.sandbox import Progress, Sandbox
from touchline.media.tasks import decode_picture, decode_samples, read_manifest, sample

from .model import Box, SeenText, TextReader, TextReading, TextRegion

# Which text stands on the screen from one picture to the next. Pure. Invariant: one entry for each text that stood in
# one place without a break, from the first picture that showed it to the first that did not.

SAME_PLACE = 0.5  # of the smaller box


def follow(
    standing: Sequence[SeenText], regions: Iterable[TextRegion], at_ms: int
) -> tuple[list[SeenText], list[SeenText]]:
    """What stands on the screen now, and what has left it."""
    left, now = list(standing), list[SeenText]()
    for region in regions:
        known = next((text for text in left if text.text == region.text and _same_place(text.box, region.box)), None)
        if known is None:
            now.append(begun(region))
        else:
            left.remove(known)
            now.append(replace(known, box=region.box, confidence=max(known.confidence, region.confidence)))
    return now, ended(left, at_ms)


def begun(region: TextRegion) -> SeenText:
    return SeenText(region.text, region.box, region.confidence, region.language, region.since_ms, region.since_ms)


def ended(texts: Iterable[SeenText], at_ms: int) -> list[SeenText]:
    return [replace(text, end_ms=at_ms) for text in texts]


def _same_place(one: Box, other: Box) -> bool:
    return one.shared(other) >= SAME_PLACE * min(one.pixels, other.pixels)


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
        hint = "Sample the video with a larger step."
        raise LimitExceeded("there is too much text in this video", why=f"more than {MOST_TEXTS} lines", hint=hint)


def _quietly(percent: int) -> None:
    """Nobody asked for progress."""
