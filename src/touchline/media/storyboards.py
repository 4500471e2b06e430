"""How a storyboard is laid out. Pure, and light: the child lays it out by the same rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from .captions import timestamp
from .model import Tiled
from .rules import fitted_size

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
    width, height = fitted_size(*seen, (WIDTH, WIDTH))
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
