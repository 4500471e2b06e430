"""The task `poster`: a JPEG of a picture on which there is something to see.

A few keyframes are looked at; where they are too few or show nothing, the beginning is looked through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

from av.video.frame import VideoFrame

from touchline.media import rules
from touchline.media.model import POSTER, POSTER_WIDTHS, Chosen, ContainerFormat, MediaFailure, Probe, smaller_poster

from .channel import Channel, InputRefused
from .order import Options
from .pictures import DisplayTransform, Filter, FilterChain, jpeg, keyframe_before
from .probe import learn
from .source import VideoSource, decode, identify, open_source, ready_to_decode, tick_of

# How good a picture would be as a poster. The filters do the work on pixels; what is left is a histogram.

GREY: list[Filter] = [("scale", "480:-2"), ("format", "gray")]
# The second derivative (Laplace), halved and lifted, so that edges of both signs fit into a byte.
EDGES: list[Filter] = [*GREY, ("convolution", "0m=0 1 0 1 -4 1 0 1 0:0rdiv=0.5:0bias=128")]


@dataclass(frozen=True, slots=True)
class PosterCandidate:
    picture: VideoFrame
    time: Fraction  # in seconds from the start
    score: float


class PosterSelector:
    """Sees one picture after the other and keeps only the best: each may take many megabytes."""

    def __init__(self) -> None:
        self._grey = FilterChain(GREY)
        self._edges = FilterChain(EDGES)
        self.scores: list[float] = []
        self.best: PosterCandidate | None = None

    def see(self, picture: VideoFrame, time: Fraction) -> None:
        mean, variance = _statistics(self._grey.apply(picture))
        _, sharpness = _statistics(self._edges.apply(picture))
        score = rules.poster_score(mean, variance**0.5, sharpness)
        if self.best is None or score > self.best.score:
            self.best = PosterCandidate(picture, time, score)
        self.scores.append(score)


def _statistics(grey: VideoFrame | None) -> tuple[float, float]:
    """Mean and variance of the pixels; rows may be padded to a round length."""
    if grey is None:
        return 0.0, 0.0
    plane = grey.planes[0]
    pixels = memoryview(plane)
    counts = Counter[int]()
    for row in range(plane.height):
        counts.update(pixels[row * plane.line_size : row * plane.line_size + plane.width])
    total = plane.width * plane.height
    mean = sum(value * count for value, count in counts.items()) / total
    return mean, sum((value - mean) ** 2 * count for value, count in counts.items()) / total


MOST_PACKETS, MOST_SEEN = 3000, 120  # in the closer look: about two minutes, and not hours of a sparse video


def make_poster(options: dict[str, Any], channel: Channel) -> Chosen:
    bounds, kind, jury = Options(**options), identify(), PosterSelector()
    facts = learn(kind, bounds)
    _show_keyframes(jury, kind, facts, bounds)
    if not rules.is_good_choice(jury.scores):
        _show_beginning(jury, kind, facts, bounds)
    if jury.best is None:
        raise InputRefused(MediaFailure.DAMAGED, "no frame can be decoded")
    return _written(jury.best, facts, bounds, channel)


def _show_keyframes(jury: PosterSelector, kind: ContainerFormat, facts: Probe, options: Options) -> None:
    shown: set[Fraction] = set()
    with open_source(kind, options) as source:
        ready_to_decode(source.video, options, threads=1)  # one picture here and there: reading ahead is waste
        for position in rules.poster_positions(facts.duration_ms):
            found = keyframe_before(source, Fraction(position, 1000))
            if found and (time := _time(source, found)) not in shown:
                shown.add(time)
                jury.see(found, time)


def _show_beginning(jury: PosterSelector, kind: ContainerFormat, facts: Probe, options: Options) -> None:
    step = min(Fraction(1), Fraction(facts.duration_ms, 1000 * rules.POSTER_CANDIDATES))
    wanted, seen = Fraction(0), 0
    with open_source(kind, options) as source:
        ready_to_decode(source.video, options, options.threads)
        for picture in _pictures(source):
            if (time := _time(source, picture)) >= wanted:
                jury.see(picture, time)
                wanted, seen = time + step, seen + 1
            if seen == MOST_SEEN:
                return


def _pictures(source: VideoSource) -> Iterator[VideoFrame]:
    for packet in islice(source.container.demux(source.video), MOST_PACKETS):
        yield from decode(source.video.codec_context, packet)


def _time(source: VideoSource, picture: VideoFrame) -> Fraction:
    return (source.time_of(picture) or 0) * tick_of(source.video) - source.start


def _written(best: PosterCandidate, facts: Probe, options: Options, channel: Channel) -> Chosen:
    seen = rules.display_size(facts.video)
    width, height = rules.fitted_size(*seen, (options.poster_width, options.poster_width))
    sizes = {POSTER: (width, height)} | {
        smaller_poster(POSTER, narrow): rules.scaled_to_width((width, height), narrow)
        for narrow in POSTER_WIDTHS
        if narrow < width  # nothing is enlarged
    }
    for name, size in sizes.items():
        picture = jpeg(best.picture, size, DisplayTransform(facts.video.rotation, facts.video.light))
        with channel.create(name) as file:
            file.write(picture)
    return Chosen(width, height, max(0, round(best.time * 1000)))
