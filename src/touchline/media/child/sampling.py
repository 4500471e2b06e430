"""The task `sample`: JPEGs of the pictures that show something new, named by their time, and a list of them.

Invariant: one pass; what is held is one picture, whatever the length. Times are the pictures' own, not the grid's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from av.video.frame import VideoFrame

from touchline.media import rules, sampling_rules
from touchline.media.model import ContainerFormat, MediaFailure, Probe
from touchline.media.sampling_model import MANIFEST, Sampled, SampleOptions

from .channel import Channel, Output
from .facts import learn
from .failures import InputRefused
from .novelty import NoveltyFilter
from .order import Options
from .packets import decode
from .pictures import DisplayTransform
from .source import (
    VideoSource,
    identify,
    open_source,
    ready_to_decode,
    tick_of,
)
from .stills import Stills


def sample(options: dict[str, Any], channel: Channel) -> Sampled:
    wanted = SampleOptions(**options.pop("sampling"))
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    size = rules.even_size(*rules.display_size(facts.video))
    with channel.create(MANIFEST) as manifest:
        writer = _Writer(channel, manifest, Stills(size, DisplayTransform(facts.video.rotation, facts.video.light)))
        examined = _kept(kind, facts, bounds, wanted, writer, channel)
    if not examined:
        raise InputRefused(MediaFailure.DAMAGED, "none of its pictures can be decoded")
    channel.progress(1.0)
    return Sampled(facts, size[0], size[1], examined, writer.written)


def _kept(
    kind: ContainerFormat, facts: Probe, bounds: Options, wanted: SampleOptions, writer: _Writer, channel: Channel
) -> int:
    novelty = NoveltyFilter((facts.video.width, facts.video.height), wanted.threshold)
    examined = 0
    with open_source(kind, bounds) as source:
        ready_to_decode(source.video, bounds, bounds.threads)
        for moment in _on_the_grid(source, Fraction(wanted.every_ms, 1000)):
            examined += 1
            channel.progress(float(moment.time * 1000 / facts.duration_ms))
            if novelty.is_new(moment.picture):
                writer.write(moment)
    return examined


@dataclass(frozen=True, slots=True)
class _Moment:
    picture: VideoFrame
    time: Fraction  # in seconds from the start


def _on_the_grid(source: VideoSource, every: Fraction) -> Iterator[_Moment]:
    """For each point of the grid the first picture that is not before it; none of them twice."""
    next_time = Fraction(0)
    for moment in _moments(source):
        if moment.time >= next_time:
            next_time = sampling_rules.next_wanted(moment.time, every)
            yield moment


def _moments(source: VideoSource) -> Iterator[_Moment]:
    """In the order of their times; a picture without one comes a tick behind the one before."""
    tick, start, last = tick_of(source.video), None, -1
    for picture in _pictures(source):
        time = source.time_of(picture)
        if start is None:
            start = int(source.start / tick) if source.keeps_times else time or 0
        shown = last + 1 if time is None else time - start
        if shown > last:
            last = shown
            yield _Moment(picture, shown * tick)


def _pictures(source: VideoSource) -> Iterator[VideoFrame]:
    for packet in source.container.demux(source.video):
        yield from decode(source.video.codec_context, packet if packet.size else None)


class _Writer:
    def __init__(self, channel: Channel, manifest: Output, stills: Stills) -> None:
        self._channel = channel
        self._manifest = manifest
        self._stills = stills
        self.written = 0

    def write(self, moment: _Moment) -> None:
        picture, time_ms = self._stills.jpeg(moment.picture), round(moment.time * 1000)
        if not picture:
            return
        if self.written >= sampling_rules.MOST_PICTURES:
            raise InputRefused(
                MediaFailure.LIMIT, f"it has more than {sampling_rules.MOST_PICTURES} different pictures"
            )
        self.written += 1
        with self._channel.create(f"{time_ms}.jpg") as file:
            file.write(picture)
        line = {"name": f"{time_ms}.jpg", "time_ms": time_ms, "size_bytes": len(picture)}
        self._manifest.write(json.dumps(line).encode() + b"\n")
