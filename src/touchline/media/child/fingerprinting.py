"""The task `fingerprint`: one pass over a video, a hash for each quarter of a second, of each style that is wanted.

The sample at a time is the first picture that is shown then or later; where pictures are rare, one serves several.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, islice, repeat, tee
from typing import Any

import numpy as np
from PIL import Image

from touchline.media.fingerprint.formats import to_bytes
from touchline.media.fingerprint.model import FINGERPRINT, INTERVAL_MS, Fingerprint, Style, Taken
from touchline.media.fingerprint.motion import foregrounds
from touchline.media.fingerprint.pictures import look_at, small_of
from touchline.media.fingerprint.rules import picture_area, sample_count
from touchline.media.fingerprint.waves import hash_and_detail
from touchline.media.model import Probe

from .channel import Channel
from .facts import learn
from .luma import Pixels, grey_of
from .order import Options
from .source import Source, identify, open_source, ready_to_decode
from .sparing import Grid, spared_pictures

Sample = tuple[Pixels, int]  # a picture, and for how many times it is the sample
BEAT = 5  # samples at which progress is told at the latest
TO_SEE_BORDERS = 40  # samples that are kept until it is known which borders all of them have


def take(options: dict[str, Any], channel: Channel) -> Taken:
    bounds, kind, styles = Options(**options["video"]), identify(), [Style(each) for each in options["styles"]]
    facts = learn(kind, bounds)
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        if options["fast"]:
            _hurry(source)
        fingerprints = list(_fingerprints(styles, _samples(source, facts, channel)))
    for fingerprint in fingerprints:
        with channel.create(FINGERPRINT.format(fingerprint.style)) as file:
            file.write(to_bytes(fingerprint))
    return Taken(facts.duration_ms, len(fingerprints[0]))


def _fingerprints(styles: Sequence[Style], samples: Iterator[Sample]) -> Iterator[Fingerprint]:
    """The dense one looks at each sample on its way to the careful one, which keeps no more than it needs."""
    hashes = list[int]()
    seen = _dense(samples, hashes) if Style.DENSE in styles else samples
    if Style.CAREFUL in styles:
        yield _careful(seen)
    deque(seen, maxlen=0)
    if Style.DENSE in styles:
        yield Fingerprint.of(hashes)


def _hurry(source: Source) -> None:
    """Leave out what no other picture needs, and the smoothing that only eyes need."""
    context = source.video.codec_context
    context.skip_frame = "NONREF"
    context.options = {**context.options, "skip_loop_filter": "all"}


def _dense(samples: Iterator[Sample], hashes: list[int]) -> Iterator[Sample]:
    for grey, times in samples:
        hashes += repeat(look_at(Image.fromarray(grey)).sample, times)
        yield grey, times


def _careful(samples: Iterator[Sample]) -> Fingerprint:
    first = list(islice(samples, TO_SEE_BORDERS))
    area = picture_area([grey for grey, _ in first]) if first else (slice(None), slice(None))
    pictures, counted = tee((small_of(grey[area]), times) for grey, times in chain(first, samples))
    moving = foregrounds(picture for picture, _ in pictures)
    hashed = (hash_and_detail(each) * times for each, (_, times) in zip(moving, counted, strict=True))
    hashes, details = np.fromiter(chain.from_iterable(hashed), np.uint64).reshape(-1, 2).T
    return Fingerprint(hashes.copy(), Style.CAREFUL, details.copy())


def _samples(source: Source, facts: Probe, channel: Channel) -> Iterator[Sample]:
    wanted, count = 0, sample_count(facts.duration_ms)
    grid = Grid.for_pictures(source, Fraction(INTERVAL_MS, 1000))
    for picture in spared_pictures(source, grid):
        time = source.time_of(picture)
        due = 0 if time is None else min(count, grid.number(time)) - wanted
        if due > 0:
            yield grey_of(picture, facts.video.rotation), due
            beats = (wanted + due) // BEAT > wanted // BEAT
            wanted += due
            (channel.beat if beats else channel.progress)(wanted / count)
        if wanted == count:
            return
