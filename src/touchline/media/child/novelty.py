"""Whether a picture shows something that the last kept one does not: another scene, or other digits in a corner.

The filters do the work on pixels: a difference hash for the whole, and the mean change of each small tile.
"""

from __future__ import annotations

from av.error import BlockingIOError as NothingYet
from av.filter import Graph
from av.filter.context import FilterContext
from av.video.format import VideoFormat
from av.video.frame import VideoFrame

from touchline.media import sampling_rules as rules

from .pictures import TICK, FilterChain

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
