"""How good a picture would be as a poster. The filters do the work on pixels; what is left is a histogram."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from av.video.frame import VideoFrame

from touchline.media import rules

from .pictures import Filter, FilterChain

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
