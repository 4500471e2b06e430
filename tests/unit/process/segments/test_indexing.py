from __future__ import annotations

from uuid import UUID

import pytest

from touchline.media.engines.model import Box
from touchline.process.segments.indexing import index, is_believed
from touchline.process.segments.model import Detection, Frame, Segment

VIDEO = UUID("a1b2c3d4-e5f6-7890-abcd-ef1234567890")
BOX = Box(10, 20, 300, 40)


def test_the_same_readings_give_the_same_rows() -> None:
    twins = [Detection("Goal @North", BOX, 0.9), Detection("Goal @North", BOX, 0.9)]
    frames = [Frame(0, twins), Frame(500, [Detection("2-1", BOX, 0.8)])]
    made = index(VIDEO, frames, end_ms=1000)
    assert index(VIDEO, iter(frames), end_ms=1000) == made
    assert [(each.segment.text, each.segment.start_ms) for each in made.segments] == [
        ("Goal @North", 0), ("Goal @North", 0), ("2-1", 500),
    ]  # fmt: skip
    assert len({each.id for each in made.segments}) == 3, "twins are two"
    assert [(each.segment_id, each.entity.value) for each in made.entities] == [
        (made.segments[0].id, "@North"), (made.segments[1].id, "@North"), (made.segments[2].id, "2-1"),
    ]  # fmt: skip
    assert len({each.id for each in made.entities}) == 3


@pytest.mark.parametrize(
    ("text", "stood_ms", "end_ms", "believed"),
    [
        ("Goal", 100, 60_000, True),
        ("VAR", 100, 60_000, True),
        ("2-1", 400, 60_000, False),
        ("2-1", 1000, 60_000, True),
        ("11", 200, 60_000, False),
        ("1", 2000, 60_000, False),
        ("1", 3000, 60_000, True),
        ("1", 40, 40, True),
        ("-", 1000, 60_000, False),
        ("\u30b4", 100, 60_000, True),
        ("\u26bd", 100, 60_000, True),
    ],
)
def test_the_shorter_a_text_the_longer_it_must_stand(text: str, stood_ms: int, end_ms: int, believed: bool) -> None:
    segment = Segment(text, BOX, 0.9, None, 0, stood_ms, pictures=1)
    assert is_believed(segment, end_ms) is believed
