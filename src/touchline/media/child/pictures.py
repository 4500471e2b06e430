"""Decoded pictures as they are to be seen: upright, square pixels, another size and format."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from av.codec import CodecContext
from av.error import BlockingIOError as NothingYet
from av.filter import Graph
from av.video.frame import VideoFrame

from touchline.media.model import Failure

from .failures import Refused
from .packets import encode

TICK = Fraction(1, 90_000)  # times are the caller's business; the chain must only have some
TURNS = {0: (), 90: (("transpose", "clock"),), 180: (("hflip", ""), ("vflip", "")), 270: (("transpose", "cclock"),)}
FULL_RANGE = 2
JPEG_QUALITY = 3  # of 2 to 31, the best first
Filter = tuple[str, str]


class Chain:
    """Applies the same filters to each picture, also when the pictures change their size half-way."""

    def __init__(self, filters: Sequence[Filter], threads: int = 1) -> None:
        self._filters = filters
        self._threads = threads
        self._shape: tuple[int, int, str] | None = None
        self._graph = Graph()

    def apply(self, picture: VideoFrame) -> VideoFrame | None:
        shape = (picture.width, picture.height, picture.format.name)
        if shape != self._shape:
            self._graph, self._shape = self._built(picture), shape
        self._graph.vpush(picture)
        try:
            return self._graph.vpull()
        except NothingYet:
            return None

    def _built(self, picture: VideoFrame) -> Graph:
        graph = Graph()
        graph.threads = self._threads
        source = graph.add_buffer(width=picture.width, height=picture.height, format=picture.format, time_base=TICK)
        nodes = [graph.add(name, arguments or None) for name, arguments in self._filters]
        graph.link_nodes(source, *nodes, graph.add("buffersink")).configure()
        return graph


def upright(size: tuple[int, int], rotation: int, pixel_format: str, *, full_range: bool = False) -> list[Filter]:
    """Scaled first, while it lies as it is stored: `size` is as it will be seen."""
    width, height = reversed(size) if rotation % 180 else size
    levels = "full" if full_range else "limited"
    scale = ("scale", f"{width}:{height}:flags=bicubic:out_range={levels}")
    return [scale, ("format", pixel_format), *TURNS[rotation], ("setsar", "1")]


def jpeg(picture: VideoFrame, size: tuple[int, int], rotation: int) -> bytes:
    shown = Chain(upright(size, rotation, "yuvj420p", full_range=True)).apply(picture)
    if shown is None:
        raise Refused(Failure.DAMAGED, "its picture cannot be converted")
    encoder = CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height = size
    encoder.pix_fmt, encoder.color_range = "yuvj420p", FULL_RANGE
    encoder.time_base = TICK
    encoder.qmin = encoder.qmax = JPEG_QUALITY
    packets = [*encode(encoder, shown), *encode(encoder, None)]
    return b"".join(bytes(packet) for packet in packets)
