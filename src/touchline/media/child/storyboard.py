"""The task `storyboard`: sheets of thumbnails at even steps.

Each thumbnail is the keyframe at or before its time: one seek and one picture each, however long the video. Of a short
video with few keyframes that would be the same picture again and again, so there every picture is decoded.
Invariant: one sheet and one picture are in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise, repeat
from math import ceil
from typing import Any

from av.error import EOFError as Finished
from av.filter import Graph
from av.video.frame import VideoFrame

from touchline.media import rules
from touchline.media.model import STORYBOARD, ContainerFormat, MediaFailure, Probe, Tiled
from touchline.media.playlists import timestamp

from .channel import Channel, InputRefused
from .order import Options
from .pictures import TICK, DisplayTransform, FilterChain, PictureDecoder, as_jpeg, keyframe_before, upright
from .probe import learn
from .source import VideoSource, identify, open_source, ready_to_decode

# How a storyboard is laid out. Pure, and light: the child lays it out by the same rules.

COLUMNS = ROWS = 10
MOST_SHEETS = 10
WIDTH = 160
INTERVALS_S = (1, 2, 5, 10, 15, 20, 30, 60, 120)


@dataclass(frozen=True, slots=True)
class Tile:
    """Where one thumbnail is, and which time it stands for."""

    start_ms: int
    end_ms: int
    sheet: int
    x: int
    y: int


def layout(duration_ms: int, seen: tuple[int, int]) -> Tiled:
    """The shortest of a few round intervals with which the sheets are not too many."""
    most = MOST_SHEETS * COLUMNS * ROWS * 1000
    fitting = (second * 1000 for second in INTERVALS_S if ceil(duration_ms / second) <= most)
    interval_ms = next(fitting, ceil(duration_ms * 1000 / most))
    width, height = rules.fitted_size(*seen, (WIDTH, WIDTH))
    return Tiled(width, height, interval_ms, max(1, ceil(duration_ms / interval_ms)), duration_ms)


def sheet_names(tiled: Tiled) -> list[str]:
    return [f"storyboard_{number:02}.jpg" for number in range(ceil(tiled.tiles / (COLUMNS * ROWS)))]


def grid(tiled: Tiled, sheet: int) -> tuple[int, int]:
    """Columns and rows of a sheet: the last one, or the only one, is no larger than it must be."""
    tiles = min(COLUMNS * ROWS, tiled.tiles - sheet * COLUMNS * ROWS)
    return min(COLUMNS, tiles), ceil(tiles / COLUMNS)


def tiles(tiled: Tiled) -> Iterator[Tile]:
    for number in range(tiled.tiles):
        sheet, place = divmod(number, COLUMNS * ROWS)
        row, column = divmod(place, COLUMNS)
        start_ms = number * tiled.interval_ms
        end_ms = min(start_ms + tiled.interval_ms, tiled.duration_ms)
        yield Tile(start_ms, end_ms, sheet, column * tiled.width, row * tiled.height)


def directions(tiled: Tiled) -> str:
    """WebVTT that players read: for each stretch of time a part of a sheet."""
    names = sheet_names(tiled)
    cues = [
        f"{timestamp(tile.start_ms)} --> {timestamp(tile.end_ms)}\n"
        f"{names[tile.sheet]}#xywh={tile.x},{tile.y},{tiled.width},{tiled.height}\n"
        for tile in tiles(tiled)
    ]
    return "\n".join(["WEBVTT\n", *cues])


SHORT_MS = 600_000
TRIED = 12  # places, to see whether keyframes are dense enough


def make_storyboard(options: dict[str, Any], channel: Channel) -> Tiled:
    bounds, kind = Options(**options), identify()
    facts = learn(kind, bounds)
    tiled = layout(facts.duration_ms, rules.display_size(facts.video))
    look = DisplayTransform(facts.video.rotation, facts.video.light)
    small = FilterChain(upright((tiled.width, tiled.height), look, "yuvj420p", full_range=True))
    read = _keyframes if _can_be_searched(kind, tiled, bounds) else _each_picture
    with open_source(kind, bounds) as source:
        pictures = read(source, facts, tiled, bounds)
        _write_sheets((shown for picture in pictures if (shown := small.apply(picture))), tiled, channel)
    with channel.create(STORYBOARD) as file:
        file.write(directions(tiled).encode())
    return tiled


def _can_be_searched(kind: ContainerFormat, tiled: Tiled, options: Options) -> bool:
    """Whether a keyframe is found at a few places; and another one for the next tile, unless reading all takes long."""
    numbers = [*range(min(TRIED // 2, tiled.tiles)), *range(max(1, tiled.tiles - TRIED // 2), tiled.tiles)]
    with open_source(kind, options) as source:
        ready_to_decode(source.video, options, threads=1)  # one picture here and there: reading ahead is waste
        found = [keyframe_before(source, _time_of(number, tiled)) for number in numbers]
        times = [source.time_of(picture) if picture else None for picture in found]
    are_dense = all(earlier != later for earlier, later in pairwise(times))
    return None not in times and (are_dense or tiled.duration_ms > SHORT_MS)


def _keyframes(source: VideoSource, facts: Probe, tiled: Tiled, options: Options) -> Iterator[VideoFrame]:
    """Where one cannot be decoded, the one before stays; before the first there is the first."""
    ready_to_decode(source.video, options, threads=1)
    last, missing = None, 0
    for number in range(tiled.tiles):
        last = keyframe_before(source, _time_of(number, tiled)) or last
        missing += 1
        if last:
            yield from repeat(last, missing)
            missing = 0


def _time_of(number: int, tiled: Tiled) -> Fraction:
    return Fraction(number * tiled.interval_ms, 1000)


def _each_picture(source: VideoSource, facts: Probe, tiled: Tiled, options: Options) -> Iterator[VideoFrame]:
    """The first picture at or after each time; at the end the last one stays."""
    pictures = PictureDecoder(source, facts.video, options)
    step = Fraction(tiled.interval_ms, 1000) / pictures.tick
    number, last = 0, None
    for packet in source.container.demux(source.video):
        for shown in pictures.take(packet) if packet.size else pictures.finish():
            last = shown.picture
            while number < tiled.tiles and shown.time >= number * step:
                number += 1
                yield last
    if last:
        yield from repeat(last, tiled.tiles - number)


def _write_sheets(pictures: Iterator[VideoFrame], tiled: Tiled, channel: Channel) -> None:
    for sheet, name in enumerate(sheet_names(tiled)):
        columns, rows = grid(tiled, sheet)
        graph = _tiler(tiled, columns, rows)
        wanted = min(COLUMNS * ROWS, tiled.tiles - sheet * COLUMNS * ROWS)
        count = 0
        for picture in islice(pictures, wanted):
            picture.pts, picture.time_base = count, TICK
            graph.vpush(picture)
            count += 1
            channel.progress((sheet * COLUMNS * ROWS + count) / tiled.tiles)
        if not count:
            raise InputRefused(MediaFailure.DAMAGED, "no frame can be decoded")
        with channel.create(name) as file:
            file.write(as_jpeg(_pulled(graph)))


def _tiler(tiled: Tiled, columns: int, rows: int) -> Graph:
    graph = Graph()
    source = graph.add("buffer", f"video_size={tiled.width}x{tiled.height}:pix_fmt=yuvj420p:time_base=1/90000:range=pc")
    graph.link_nodes(source, graph.add("tile", f"{columns}x{rows}"), graph.add("buffersink")).configure()
    return graph


def _pulled(graph: Graph) -> VideoFrame:
    """A sheet that is not full comes at the end."""
    with suppress(Finished):
        graph.vpush(None)
    return graph.vpull()
