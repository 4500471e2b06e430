"""Decoded pictures as they are to be seen: upright, square pixels, another size and format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from av.codec import CodecContext
from av.error import BlockingIOError as NothingYet, EOFError as Finished, FFmpegError
from av.filter import Graph
from av.video.codeccontext import VideoCodecContext
from av.video.frame import PictureType, VideoFrame

from touchline.media.model import Light, MediaFailure, VideoTrack

from .channel import InputRefused
from .order import Options
from .source import AnyPacket, VideoSource, decode, encode, ready_to_decode, tick_of

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
        raise InputRefused(MediaFailure.DAMAGED, "a frame cannot be converted")
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


# Many JPEGs of one video: the filters and the encoder are made once, so that an hour of them needs no more memory.


class Stills:
    def __init__(self, size: tuple[int, int], look: DisplayTransform) -> None:
        self._chain = FilterChain(upright(size, look, "yuvj420p", full_range=True))
        self._encoder = _new_encoder(size)
        self._number = 0

    def jpeg(self, picture: VideoFrame) -> bytes:
        """Nothing for a picture that cannot be converted."""
        shown = self._chain.apply(picture)
        if shown is None:
            return b""
        self._number += 1
        shown.pts, shown.time_base, shown.pict_type = self._number, TICK, PictureType.NONE
        return b"".join(bytes(packet) for packet in encode(self._encoder, shown))


def _new_encoder(size: tuple[int, int]) -> VideoCodecContext:
    encoder = CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height = size
    encoder.pix_fmt, encoder.color_range = "yuvj420p", FULL_RANGE
    encoder.time_base = TICK
    encoder.thread_count = 1  # more would hold pictures back
    encoder.qmin = encoder.qmax = JPEG_QUALITY
    return encoder


# Decoded pictures with the times at which they are shown, from zero on: the one decoding that all renditions share.
# Invariant: times rise, and keyframes lie on one grid of media time, so that renditions can be switched.


@dataclass(frozen=True, slots=True)
class ShownPicture:
    picture: VideoFrame
    time: int  # in ticks of the source
    is_key: bool


class PictureDecoder:
    def __init__(self, source: VideoSource, video: VideoTrack, options: Options) -> None:
        self._source = source
        self._decoder = source.video.codec_context
        self.tick = tick_of(source.video)
        self._start = int(source.start / self.tick) if source.keeps_times else None
        self._segment = max(1, int(Fraction(options.segment_ms, 1000) / self.tick))
        self._progressive = Deinterlacer(self.tick) if video.is_interlaced else None
        self._read, self._last, self._next_key = -1, -1, 0
        ready_to_decode(source.video, options, options.threads)

    def take(self, packet: AnyPacket) -> Iterator[ShownPicture]:
        return self._dated(self._whole(decode(self._decoder, packet)))

    def finish(self) -> Iterator[ShownPicture]:
        yield from self._dated(self._whole(decode(self._decoder, None)))
        if self._progressive:
            yield from self._dated(self._progressive.finish())

    def _whole(self, pictures: Iterable[VideoFrame]) -> Iterator[tuple[VideoFrame, int]]:
        for picture in pictures:
            if (time := self._time(picture)) is not None:
                self._read = time
                yield from self._progressive.take(picture, time) if self._progressive else [(picture, time)]

    def _dated(self, pictures: Iterable[tuple[VideoFrame, int]]) -> Iterator[ShownPicture]:
        for picture, time in pictures:
            if time <= self._last:
                continue  # another picture has had this time already
            self._last = time
            is_key = time >= self._next_key
            if is_key:
                self._next_key = (time // self._segment + 1) * self._segment
            yield ShownPicture(picture, time, is_key)

    def _time(self, picture: VideoFrame) -> int | None:
        """Nothing for a picture without a time."""
        time = self._source.time_of(picture)
        if time is None:
            return None if self._source.keeps_times else self._read + 1
        if self._start is None:
            self._start = time  # without times of their own, pictures begin with the first and go by the tick
        return time - self._start


# Single pictures from anywhere in a video: a seek and the decoding of one keyframe, however long the video is.

MOST_BROKEN_PACKETS = 100


def keyframe_before(source: VideoSource, time: Fraction) -> VideoFrame | None:
    """The one at or before a time, in seconds from the start; none where the container cannot be searched."""
    try:
        source.container.seek(int((time + source.start) / tick_of(source.video)), stream=source.video)
        packets = islice(source.container.demux(source.video), MOST_BROKEN_PACKETS)
        return next((picture for packet in packets for picture in decode(source.video.codec_context, packet)), None)
    except FFmpegError:
        return None
