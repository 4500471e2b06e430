"""The task `fingerprint`: one pass over a video, a hash for each quarter of a second.

The sample at a time is the first picture that is shown then or later; where pictures are rare, one serves several.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from av.video.frame import VideoFrame

from touchline.media.fingerprint.formats import to_bytes
from touchline.media.fingerprint.model import FINGERPRINT, Fingerprint, Taken
from touchline.media.fingerprint.pictures import look_at
from touchline.media.fingerprint.rules import sample_count, sample_time_ms
from touchline.media.model import Probe

from .channel import Channel
from .facts import learn
from .luma import grey_of
from .order import Options
from .packets import decode
from .source import Source, identify, open_source, ready_to_decode, tick_of


def take(options: dict[str, Any], channel: Channel) -> Taken:
    bounds, kind = Options(**options["video"]), identify()
    facts = learn(kind, bounds)
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        if options["fast"]:
            _hurry(source)
        hashes = list(_sampled(source, facts, channel))
    _write(Fingerprint.of(hashes))
    return Taken(facts.duration_ms, len(hashes), int(np.count_nonzero(hashes)))


def _hurry(source: Source) -> None:
    """Leave out what no other picture needs, and the smoothing that only eyes need."""
    context = source.video.codec_context
    context.skip_frame = "NONREF"
    context.options = {**context.options, "skip_loop_filter": "all"}


def _sampled(source: Source, facts: Probe, channel: Channel) -> Iterator[int]:
    wanted, count = 0, sample_count(facts.duration_ms)
    for picture, time in _pictures(source):
        if wanted == count:
            return
        if time < Fraction(sample_time_ms(wanted), 1000):
            continue
        sample = look_at(grey_of(picture, facts.video.rotation)).sample
        while wanted < count and time >= Fraction(sample_time_ms(wanted), 1000):
            yield sample
            wanted += 1
        channel.progress(wanted / count)


def _pictures(source: Source) -> Iterator[tuple[VideoFrame, Fraction]]:
    """With the times at which they are shown, from the start of the file."""
    tick, start = tick_of(source.video), source.start
    for packet in source.container.demux(source.video):
        for picture in decode(source.video.codec_context, packet):
            if (time := source.time_of(picture)) is not None:
                yield picture, time * tick - start


def _write(fingerprint: Fingerprint) -> None:
    Path(FINGERPRINT).write_bytes(to_bytes(fingerprint))
