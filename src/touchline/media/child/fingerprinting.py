"""From decoded pictures to fingerprints: a hash for each quarter of a second, of each style that is wanted.

The sample at a time is the first picture that is shown then or later; where pictures are rare, one serves several.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice, repeat, tee

import numpy as np
from av.video.frame import VideoFrame
from PIL import Image

from touchline.media.fingerprint.model import INTERVAL_MS, Fingerprint, Style
from touchline.media.fingerprint.motion import foregrounds
from touchline.media.fingerprint.pictures import hash_image, small_of
from touchline.media.fingerprint.rules import picture_area, sample_count
from touchline.media.fingerprint.waves import hash_and_detail
from touchline.media.model import Probe

from .channel import Channel
from .luma import Pixels, grey_of
from .source import VideoSource
from .sparing import Grid

Sample = tuple[Pixels, int]  # a picture, and for how many times it is the sample
BEAT = 5  # samples at which progress is told at the latest
TO_SEE_BORDERS = 40  # samples that are kept until it is known which borders all of them have


def fingerprints_of(styles: Sequence[Style], samples: Iterator[Sample]) -> Iterator[Fingerprint]:
    """The dense one looks at each sample on its way to the careful one, which keeps no more than it needs."""
    hashes = list[int]()
    seen = _dense(samples, hashes) if Style.DENSE in styles else samples
    if Style.CAREFUL in styles:
        yield _careful(seen)
    deque(seen, maxlen=0)
    if Style.DENSE in styles:
        yield Fingerprint.of(hashes)


def _dense(samples: Iterator[Sample], hashes: list[int]) -> Iterator[Sample]:
    for grey, times in samples:
        hashes += repeat(hash_image(Image.fromarray(grey)).sample, times)
        yield grey, times


def _careful(samples: Iterator[Sample]) -> Fingerprint:
    first = list(islice(samples, TO_SEE_BORDERS))
    area = picture_area([grey for grey, _ in first]) if first else (slice(None), slice(None))
    pictures, counted = tee((small_of(grey[area]), times) for grey, times in chain(first, samples))
    moving = foregrounds(picture for picture, _ in pictures)
    hashed = (hash_and_detail(each) * times for each, (_, times) in zip(moving, counted, strict=True))
    hashes, details = np.fromiter(chain.from_iterable(hashed), np.uint64).reshape(-1, 2).T
    return Fingerprint(hashes.copy(), Style.CAREFUL, details.copy())


def sample_grid(source: VideoSource) -> Grid:
    return Grid.for_pictures(source, Fraction(INTERVAL_MS, 1000))


def samples_of(pictures: Iterator[VideoFrame], source: VideoSource, facts: Probe, channel: Channel) -> Iterator[Sample]:
    wanted, count = 0, sample_count(facts.duration_ms)
    grid = sample_grid(source)
    for picture in pictures:
        time = source.time_of(picture)
        due = 0 if time is None else min(count, grid.number(time)) - wanted
        if due > 0:
            yield grey_of(picture, facts.video.rotation), due
            beats = (wanted + due) // BEAT > wanted // BEAT
            wanted += due
            (channel.beat if beats else channel.progress)(wanted / count)
        if wanted == count:
            return
