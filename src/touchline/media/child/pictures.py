"""Decoded pictures as they are to be seen: upright, square pixels, another size and format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from av.codec import CodecContext
from av.error import BlockingIOError as NothingYet
from av.error import EOFError as Finished
from av.filter import Graph
from av.video.frame import VideoFrame

from touchline.media.model import Light, MediaFailure

from .failures import InputRefused
from .packets import encode

TICK = Fraction(1, 90_000)  # times are the caller's business; the chain must only have some
TURNS = {0: (), 90: (("transpose", "clock"),), 180: (("hflip", ""), ("vflip", "")), 270: (("transpose", "cclock"),)}
FULL_RANGE = 2
JPEG_QUALITY = 3  # of 2 to 31, the best first
Filter = tuple[str, str]
# From HDR to what every screen shows. The library makes a table for it once, which takes some seconds of a core.
TRANSFERS = {Light.PQ: "smpte2084", Light.HLG: "arib-std-b67"}
FROM_BROAD = "in_primaries=bt2020:in_color_matrix=bt2020:intent=perceptual"
TO_STANDARD = "out_transfer=bt709:out_primaries=bt709:out_color_matrix=bt709"


@dataclass(frozen=True, slots=True)
class DisplayTransform:
    """How pictures are stored, and what must be done to see them."""

    rotation: int = 0
    light: Light = Light.STANDARD


class FilterChain:
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


class Deinterlacer:
    """Whole pictures from interlaced ones: the lines of the later moment are guessed from their neighbours.

    Pictures that are whole already stay as they are. It looks one picture ahead: each comes out when the next is in.
    """

    def __init__(self, tick: Fraction) -> None:
        self._tick = tick
        self._shape: tuple[int, int, str] | None = None
        self._graph: Graph | None = None

    def take(self, picture: VideoFrame, time: int) -> Iterator[tuple[VideoFrame, int]]:
        shape = (picture.width, picture.height, picture.format.name)
        if shape != self._shape:
            yield from self.finish()
            self._graph, self._shape = self._built(picture), shape
        picture.pts, picture.time_base = time, self._tick
        yield from self._passed(picture)

    def finish(self) -> Iterator[tuple[VideoFrame, int]]:
        if self._graph:
            yield from self._passed(None)
        self._graph = self._shape = None

    def _passed(self, picture: VideoFrame | None) -> Iterator[tuple[VideoFrame, int]]:
        graph = self._graph
        if graph is None:
            return
        graph.vpush(picture)
        while True:
            try:
                whole = graph.vpull()
            except (NothingYet, Finished):
                return
            yield whole, round((whole.pts or 0) * (whole.time_base or self._tick) / self._tick)

    def _built(self, picture: VideoFrame) -> Graph:
        graph = Graph()
        source = graph.add_buffer(
            width=picture.width, height=picture.height, format=picture.format, time_base=self._tick
        )
        filters = graph.add("bwdif", "mode=send_frame:deint=interlaced"), graph.add("buffersink")
        graph.link_nodes(source, *filters).configure()
        return graph


def upright(
    size: tuple[int, int], look: DisplayTransform, pixel_format: str, *, full_range: bool = False
) -> list[Filter]:
    """Scaled first, while it lies as it is stored: `size` is as it will be seen."""
    width, height = reversed(size) if look.rotation % 180 else size
    levels = "full" if full_range else "limited"
    scale = f"{width}:{height}:flags=bicubic:out_range={levels}"
    if transfer := TRANSFERS.get(look.light):
        scale += f":in_transfer={transfer}:{FROM_BROAD}:{TO_STANDARD}"
    return [("scale", scale), ("format", pixel_format), *TURNS[look.rotation], ("setsar", "1")]


def jpeg(picture: VideoFrame, size: tuple[int, int], look: DisplayTransform) -> bytes:
    shown = FilterChain(upright(size, look, "yuvj420p", full_range=True)).apply(picture)
    if shown is None:
        raise InputRefused(MediaFailure.DAMAGED, "its picture cannot be converted")
    return as_jpeg(shown)


def as_jpeg(picture: VideoFrame) -> bytes:
    """Of a picture with full range, as the format has it."""
    encoder = CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height = picture.width, picture.height
    encoder.pix_fmt, encoder.color_range = "yuvj420p", FULL_RANGE
    encoder.time_base = TICK
    encoder.qmin = encoder.qmax = JPEG_QUALITY
    packets = [*encode(encoder, picture), *encode(encoder, None)]
    return b"".join(bytes(packet) for packet in packets)
