"""The task `sample`: JPEGs of the pictures that show something new, named by their time, and a list of them.

Invariant: one pass; what is held is one picture, whatever the length. Times are the pictures' own, not the grid's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from av.error import BlockingIOError as NothingYet
from av.filter import Graph
from av.filter.context import FilterContext
from av.video.format import VideoFormat
from av.video.frame import VideoFrame

from touchline.media import rules
from touchline.media.model import ContainerFormat, MediaFailure, Probe

from .channel import Channel, InputRefused, Output
from .order import Options
from .pictures import TICK, DisplayTransform, FilterChain, Stills
from .probe import learn
from .source import VideoSource, decode, identify, open_source, ready_to_decode, tick_of

# Whether a picture shows something that the last kept one does not: another scene, or other digits in a corner. The
# filters do the work on pixels: a difference hash for the whole, and the mean change of each small tile.

HASH = [("scale", f"{rules.HASH_WIDTH + 1}:{rules.HASH_HEIGHT}:flags=area"), ("format", "gray")]


class NoveltyFilter:
    """Keeps one small grey picture and one hash, those of the last that was kept."""

    def __init__(self, size: tuple[int, int], threshold: float) -> None:
        width, height = rules.examined_size(*size)
        self._grey = FilterChain([("scale", f"{width}:{height}:flags=area"), ("format", "gray")])
        self._hash = FilterChain(HASH)
        self._tiles = _Tiles(width, height)
        self._threshold = threshold
        self._kept: tuple[int, VideoFrame] | None = None

    def is_new(self, picture: VideoFrame) -> bool:
        """A picture that is new is the one that the next are compared with."""
        grey, small = self._grey.apply(picture), self._hash.apply(picture)
        if grey is None or small is None:
            return True
        found = rules.difference_hash(_pixels(small))
        if self._is_known(found, grey):
            return False
        self._kept = found, grey
        return True

    def _is_known(self, found: int, grey: VideoFrame) -> bool:
        if self._kept is None or not rules.is_similar(self._kept[0], found, self._threshold):
            return False
        return not rules.is_changed(self._tiles.largest_change(self._kept[1], grey))


class _Tiles:
    """The difference of two pictures, then the mean of each tile, of which the largest counts."""

    def __init__(self, width: int, height: int) -> None:
        self._graph = Graph()
        self._inputs = [self._input(width, height) for _ in range(2)]
        across, down = max(1, width // rules.TILE), max(1, height // rules.TILE)
        blend = self._graph.add("blend", "all_mode=difference")
        tiles = self._graph.add("scale", f"{across}:{down}:flags=area")
        self._output = self._graph.add("buffersink")
        for place, source in enumerate(self._inputs):
            source.link_to(blend, 0, place)
        blend.link_to(tiles)
        tiles.link_to(self._output)
        self._graph.configure()
        self._number = 0

    def largest_change(self, before: VideoFrame, after: VideoFrame) -> int:
        self._number += 1
        for source, picture in zip(self._inputs, (before, after), strict=True):
            picture.pts, picture.time_base = self._number, TICK
            source.push(picture)
        try:
            changes = self._output.pull()
        except NothingYet:
            return rules.MOST_CHANGE
        return max(_pixels(changes)) if isinstance(changes, VideoFrame) else rules.MOST_CHANGE

    def _input(self, width: int, height: int) -> FilterContext:
        return self._graph.add_buffer(width=width, height=height, format=VideoFormat("gray"), time_base=TICK)


def _pixels(picture: VideoFrame) -> bytes:
    """Row by row; rows may be padded to a round length."""
    plane = picture.planes[0]
    padded = memoryview(plane)
    starts = range(0, plane.height * plane.line_size, plane.line_size)
    return b"".join(padded[start : start + plane.width] for start in starts)


def sample(options: dict[str, Any], channel: Channel) -> rules.Sampled:
    wanted = rules.SampleOptions(**options.pop("sampling"))
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    size = rules.even_size(*rules.display_size(facts.video))
    with channel.create(rules.MANIFEST) as manifest:
        writer = _Writer(channel, manifest, Stills(size, DisplayTransform(facts.video.rotation, facts.video.light)))
        examined = _kept(kind, facts, bounds, wanted, writer, channel)
    if not examined:
        raise InputRefused(MediaFailure.DAMAGED, "no frame can be decoded")
    channel.progress(1.0)
    return rules.Sampled(facts, size[0], size[1], examined, writer.written)


def _kept(
    kind: ContainerFormat,
    facts: Probe,
    bounds: Options,
    wanted: rules.SampleOptions,
    writer: _Writer,
    channel: Channel,
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
            next_time = rules.next_wanted(moment.time, every)
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
        if self.written >= rules.MOST_PICTURES:
            raise InputRefused(MediaFailure.LIMIT, f"it has more than {rules.MOST_PICTURES} different frames")
        self.written += 1
        with self._channel.create(f"{time_ms}.jpg") as file:
            file.write(picture)
        line = {"name": f"{time_ms}.jpg", "time_ms": time_ms, "size_bytes": len(picture)}
        self._manifest.write(json.dumps(line).encode() + b"\n")
