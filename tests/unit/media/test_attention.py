"""What the detector is asked to look at."""

from __future__ import annotations

import numpy as np
import pytest

from touchline.media.vision.areas import Area, Pixels, merged
from touchline.media.vision.attention import MOVING_EVERY_MS, Known, Look, Rejected, moves, worth_a_look
from touchline.media.vision.gate import Candidate

PLACE = Area(40, 40, 60, 16)
NOTHING = Known([], [], 0)


def look(value: int, *candidates: Candidate, at_ms: int = 1000) -> Look:
    grey: Pixels = np.full((180, 320), 30, np.uint8)
    PLACE.of(grey)[:] = value
    return Look(np.dstack([grey] * 3), grey, at_ms, candidates)


def chosen(now: Look, last: Look | None, known: Known = NOTHING) -> list[Candidate]:
    return list(worth_a_look(now, last, known).candidates)


CLEAR, FAINT = Candidate(PLACE, is_clear=True), Candidate(PLACE, is_clear=False)


@pytest.mark.parametrize(
    ("case", "candidate", "last", "known", "is_looked_at"),
    [
        ("the first picture", FAINT, None, NOTHING, True),
        ("clear letters that are new", CLEAR, look(30), NOTHING, True),
        ("perhaps a player, new", FAINT, look(30), NOTHING, False),
        ("perhaps a player, but it stands still", FAINT, look(200), NOTHING, True),
        ("rejected, and the same", CLEAR, look(200), Known([Rejected(PLACE, PLACE.of(look(200).grey))], [], 0), False),
        ("rejected, and another now", CLEAR, look(30), Known([Rejected(PLACE, PLACE.of(look(90).grey))], [], 0), True),
        ("it moves with the camera", CLEAR, look(30), Known([], [PLACE.moved(70, 2)], 0), False),
        ("it moved, and rests now", CLEAR, look(200), Known([], [PLACE.moved(70, 2)], 0), True),
    ],
)
def test_worth_a_look(case: str, candidate: Candidate, last: Look | None, known: Known, is_looked_at: bool) -> None:
    assert chosen(look(200, candidate), last, known) == ([candidate] if is_looked_at else []), case


def test_letters_on_the_move_get_a_look_now_and_then() -> None:
    known = Known([], [PLACE.moved(70, 2)], 0)
    answer = worth_a_look(look(200, CLEAR, at_ms=MOVING_EVERY_MS), look(30), known)
    assert (list(answer.candidates), answer.looks_at_moving, list(answer.moving)) == ([CLEAR], True, [PLACE])


@pytest.mark.parametrize(
    ("case", "before", "is_moving"),
    [
        ("the same size, aside", PLACE.moved(80, 0), True),
        ("the same place", PLACE.moved(2, 0), False),
        ("another size", Area(120, 30, 60, 60), False),
        ("another height on the screen", PLACE.moved(80, 90), False),
        ("too far to have got here", PLACE.moved(200, 0), False),
    ],
)
def test_moves(case: str, before: Area, is_moving: bool) -> None:
    assert moves(PLACE, [before], reach=160) is is_moving, case


def test_areas_that_touch_are_looked_at_together() -> None:
    assert merged([Area(0, 0, 10, 10), Area(5, 5, 10, 10), Area(100, 100, 5, 5)]) == [
        Area(100, 100, 5, 5),
        Area(0, 0, 15, 15),
    ]
