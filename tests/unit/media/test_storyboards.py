from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.media.child import storyboard
from touchline.media.model import Tiled

WIDE = (1920, 1080)
DURATIONS = st.integers(1, 24 * 3_600_000)


@pytest.mark.parametrize(
    ("duration_ms", "interval_ms", "tiles"),
    [
        (1, 1000, 1),
        (60_000, 1000, 60),
        (60_001, 1000, 61),
        (1_000_000, 1000, 1000),
        (1_000_001, 2000, 501),
        (5_400_000, 10_000, 540),
        (10_800_000, 15_000, 720),
        (86_400_000, 120_000, 720),
        (200_000_000, 200_000, 1000),
    ],
)
def test_the_interval_fits_the_duration(duration_ms: int, interval_ms: int, tiles: int) -> None:
    assert storyboard.layout(duration_ms, WIDE) == Tiled(160, 90, interval_ms, tiles, duration_ms)


@pytest.mark.parametrize(("seen", "size"), [((1080, 1920), (90, 160)), ((64, 36), (64, 36)), ((3840, 1600), (160, 66))])
def test_thumbnails_have_the_shape_of_the_video(seen: tuple[int, int], size: tuple[int, int]) -> None:
    tiled = storyboard.layout(1000, seen)
    assert (tiled.width, tiled.height) == size


@given(DURATIONS)
def test_tiles_cover_the_video_without_gaps_on_sheets_that_are_few(duration_ms: int) -> None:
    tiled = storyboard.layout(duration_ms, WIDE)
    tiles = list(storyboard.tiles(tiled))
    assert len(storyboard.sheet_names(tiled)) <= storyboard.MOST_SHEETS
    assert tiles[0].start_ms == 0
    assert tiles[-1].end_ms == duration_ms
    for number, tile in enumerate(tiles):
        columns, rows = storyboard.grid(tiled, tile.sheet)
        assert tile.start_ms < tile.end_ms
        assert number == 0 or tile.start_ms == tiles[number - 1].end_ms
        assert tile.x + tiled.width <= columns * tiled.width
        assert tile.y + tiled.height <= rows * tiled.height
    assert len({(tile.sheet, tile.x, tile.y) for tile in tiles}) == len(tiles)


def test_directions_are_what_players_read() -> None:
    text = storyboard.directions(Tiled(160, 90, 1000, 12, 11_500))
    assert text.startswith("WEBVTT\n\n00:00:00.000 --> 00:00:01.000\nstoryboard_00.jpg#xywh=0,0,160,90\n\n")
    assert text.endswith("00:00:11.000 --> 00:00:11.500\nstoryboard_00.jpg#xywh=160,90,160,90\n")
