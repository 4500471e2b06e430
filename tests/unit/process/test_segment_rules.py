from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from uuid import UUID

import pytest
from hypothesis import example, given, settings, strategies as st

from touchline.media.engines.model import Box
from touchline.process.segments import rules
from touchline.process.segments.rules import (
    Detection,
    ReadFrame,
    TextSegment,
    build_index,
    is_credible,
    merge_frames,
    similarity,
)

PLACE, BELOW, LEFT = Box(100, 600, 400, 40), Box(100, 660, 300, 30), Box(20, 20, 200, 30)
GAP_MS = 1000


def seen(text: str, box: Box = PLACE, confidence: float = 0.9) -> Detection:
    return Detection(text, box, confidence)


def frames(*readings: Sequence[Detection], step_ms: int = 500) -> list[ReadFrame]:
    return [ReadFrame(number * step_ms, detections) for number, detections in enumerate(readings)]


def summaries(found: Sequence[TextSegment]) -> list[tuple[str, int, int]]:
    return sorted((each.text, each.start_ms, each.end_ms) for each in found)


def test_a_caption_of_eight_seconds_is_one_segment_whatever_stands_beside_it() -> None:
    noise = ["Henrik Dahl", "Henrik DahI", "Henrlk Dahl", "Henrik Dahl"]
    readings = [
        [
            seen(f"{half // 120:02}:{half // 2 % 60:02}", LEFT),
            seen("NORTH BANK", Box(700, 40, 200, 30)),
            *([seen(noise[half % 4]), seen("Head coach", BELOW)] if 4 <= half < 20 and half != 11 else []),
        ]
        for half in range(30)
    ]
    found = list(merge_frames(frames(*readings), end_ms=15_000, gap_ms=GAP_MS))
    clocks = [each for each in found if each.box == LEFT]
    assert summaries([each for each in found if each.box != LEFT]) == [
        ("Head coach", 2000, 10_000), ("Henrik Dahl", 2000, 10_000), ("NORTH BANK", 0, 15_000),
    ]  # fmt: skip
    assert summaries(clocks) == [(f"00:{second:02}", second * 1000, second * 1000 + 1000) for second in range(15)]


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        ([[], []], []),
        ([[seen("A goal")]], [("A goal", 0, 9000)]),
        ([[seen("A goal")], []], [("A goal", 0, 500)]),
        ([[seen("A goal")], [], [seen("A goal")], []], [("A goal", 0, 1500)]),
        ([[seen("A goal")], [], [], [], [seen("A goal")], []], [("A goal", 0, 500), ("A goal", 2000, 2500)]),
        ([[seen("1-0")], [seen("2-0")]], [("1-0", 0, 500), ("2-0", 500, 9000)]),
        ([[seen("1-0")], [seen("1-O")]], [("1-0", 0, 9000)]),
        ([[seen("A goal")], [seen("A goal", BELOW)]], [("A goal", 0, 500), ("A goal", 500, 9000)]),
        ([[seen("A goal", PLACE), seen("A goal", LEFT)]] * 2, [("A goal", 0, 9000)] * 2),
        ([[seen("Kofi Mensah", confidence=0.9)], [seen("Kofi Mansah", confidence=0.5)]], [("Kofi Mensah", 0, 9000)]),
        ([[seen("Yes")], [seen("Yea")]], [("Yea", 500, 9000), ("Yes", 0, 500)]),
    ],
)
def test_when_a_text_came_and_left(readings: list[list[Detection]], expected: list[tuple[str, int, int]]) -> None:
    assert summaries(list(merge_frames(frames(*readings), end_ms=9000, gap_ms=GAP_MS))) == expected


def test_ten_thousand_regions_are_followed() -> None:
    """Unchanged in the second picture, and a little moved in a corner."""
    places = [Box(number % 100 * 120, number // 100 * 40, 110, 30) for number in range(10_000)]
    regions = [seen(f"word {number}", place) for number, place in enumerate(places)]
    moved = [seen(each.text, replace(each.box, x=each.box.x + 2)) for each in regions[:500]]
    assert len(list(merge_frames(frames(regions, [*moved, *regions[500:]]), end_ms=1000, gap_ms=GAP_MS))) == 10_000


@pytest.mark.parametrize("text", ["word {}", "word"])
def test_thousands_of_texts_in_one_place_are_not_compared_each_with_each(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0

    def counted(one: str, other: str) -> float:
        nonlocal compared
        compared += 1
        return similarity(one, other)

    monkeypatch.setattr(rules, "similarity", counted)
    regions = [seen(text.format(number), Box(number % 90, 0, 50, 20)) for number in range(2_000)]
    moved = [seen(each.text.upper(), replace(each.box, y=1)) for each in regions]
    found = list(merge_frames(frames(regions, moved), end_ms=1000, gap_ms=GAP_MS))
    assert sum(each.pictures for each in found) == 4_000, "nothing is lost"
    assert compared <= 2_000 * 2 * rules.CROWDED_CELL


BOXES = st.builds(Box, st.integers(0, 600), st.integers(0, 300), st.integers(1, 200), st.integers(1, 60))
TEXTS = st.sampled_from(["Goal", "GOAL", "G0al", "1-0", "1-O", "2-0", "Henrik Dahl", "Henrik DahI", "", "#x"])
READINGS = st.lists(st.lists(st.builds(seen, TEXTS, BOXES, st.floats(0.1, 1)), max_size=6), max_size=8)


SURE, UNSURE = (seen("Goal", Box(0, 0, 1, 1), confidence) for confidence in (1.0, 0.5))


@settings(max_examples=60)
@example([[SURE, SURE, SURE, UNSURE, SURE, SURE], [seen("GOAL", Box(0, 0, 1, 1), 0.5)]], 0)  # which one goes on?
@given(READINGS, st.integers(0, 2**32))
def test_nothing_is_lost_and_the_order_of_regions_does_not_matter(readings: list[list[Detection]], seed: int) -> None:
    shuffled = [Random(seed).sample(regions, len(regions)) for regions in readings]
    found = list(merge_frames(frames(*readings), end_ms=9000, gap_ms=GAP_MS))
    assert sum(each.pictures for each in found) == sum(map(len, readings))
    assert all(0 <= each.start_ms < each.end_ms <= 9000 for each in found)
    assert summaries(found) == summaries(list(merge_frames(frames(*shuffled), end_ms=9000, gap_ms=GAP_MS)))


VIDEO = UUID("a1b2c3d4-e5f6-7890-abcd-ef1234567890")
BOX = Box(10, 20, 300, 40)


def test_the_same_readings_give_the_same_rows() -> None:
    twins = [Detection("Goal @North", BOX, 0.9), Detection("Goal @North", BOX, 0.9)]
    frames = [ReadFrame(0, twins), ReadFrame(500, [Detection("2-1", BOX, 0.8)])]
    made = build_index(VIDEO, frames, end_ms=1000)
    assert build_index(VIDEO, iter(frames), end_ms=1000) == made
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
    segment = TextSegment(text, BOX, 0.9, None, 0, stood_ms, pictures=1)
    assert is_credible(segment, end_ms) is believed
