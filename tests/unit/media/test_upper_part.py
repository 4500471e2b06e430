"""How much of a picture the detector is shown when only its upper part is wanted."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.pictures import SIZE, broadcast_picture
from touchline.media.vision.areas import Area, Pixels
from touchline.media.vision.memory import ReadMemory, ReadWords
from touchline.media.vision.text_stream import TextStream

WIDTH, HEIGHT = SIZE


class Finding:
    """Finds one line, always in the same place, and remembers how much it was shown."""

    language: str | None = None
    short_side = HEIGHT  # nothing is enlarged

    def __init__(self, line: Area) -> None:
        self.line = line
        self.rows = list[int]()

    def detect(self, picture: Pixels) -> list[Area]:
        self.rows.append(len(picture))
        return [self.line]

    def recognise(self, lines: Sequence[Pixels]) -> list[ReadWords]:
        return [ReadWords("67:42", 0.99) for _ in lines]


@pytest.mark.parametrize(("upper", "rows"), [(1.0, HEIGHT), (0.25, HEIGHT // 4), (0.001, 8)])
def test_nothing_below_is_shown(upper: float, rows: int) -> None:
    reader = Finding(Area(200, 10, 60, 20))
    TextStream(reader, ReadMemory(), is_single=True).read(broadcast_picture(), 0, upper)
    assert all(shown <= rows for shown in reader.rows)
    assert (max(reader.rows, default=0) == rows) is (upper > 0.1)


@pytest.mark.parametrize(("y", "is_read"), [(40, True), (68, False)])
def test_a_line_that_is_cut_is_none(y: int, is_read: bool) -> None:
    """Half of a digit may look like another."""
    reader = Finding(Area(200, y, 60, 20))
    assert bool(TextStream(reader, ReadMemory(), is_single=True).read(broadcast_picture(), 0, 0.25)) is is_read


def test_all_of_a_picture_has_no_cut() -> None:
    reader = Finding(Area(200, HEIGHT - 20, 60, 20))
    assert TextStream(reader, ReadMemory(), is_single=True).read(broadcast_picture(), 0)
