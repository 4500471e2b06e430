from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from touchline.media.engines.model import Box
from touchline.process.ocr.model import Run, Seen
from touchline.process.ocr.runs import folded, rests, unfolded, with_next
from touchline.process.segments.model import Detection, Frame

A, B = Detection("Goal", Box(0, 0, 9, 9), 0.9), Detection("1-0", Box(20, 0, 9, 9), 0.8, "eng")


def test_what_stands_unchanged_is_one_run() -> None:
    frames = [Frame(0, [A]), Frame(100, [B, A]), Frame(200, [B]), Frame(300), Frame(400, [B])]
    assert set(folded(frames)) == {Run(0, 100, A), Run(100, 200, B), Run(400, 400, B)}


def test_a_text_that_is_named_late_stands_from_its_beginning_on() -> None:
    frames = [Frame(0, [A]), Frame(100, [A]), Frame(200, [A])]
    assert with_next(frames, 300, [Seen(A, 0), Seen(B, 100)]) == [
        Frame(0, [A]),
        Frame(100, [A, B]),
        Frame(200, [A, B]),
        Frame(300, [A, B]),
    ]


def test_a_text_whose_box_moved_a_little_is_not_added_again() -> None:
    moved = Detection(A.text, Box(1, 0, 9, 9), A.confidence)
    assert with_next([Frame(0, [A]), Frame(100, [A])], 200, [Seen(moved, 0)])[:2] == [Frame(0, [A]), Frame(100, [A])]


def test_a_text_that_came_back_is_added_behind_its_gap_only() -> None:
    frames = [Frame(0, [A]), Frame(100), Frame(200)]
    assert with_next(frames, 300, [Seen(A, 200)]) == [Frame(0, [A]), Frame(100), Frame(200, [A]), Frame(300, [A])]


READINGS = st.lists(
    st.sets(st.builds(Detection, st.sampled_from("abc"), st.just(Box(0, 0, 1, 1)), st.just(0.9))), max_size=12
)


@settings(max_examples=30)
@given(READINGS, st.integers(1, 4))
def test_what_is_unfolded_is_what_was_folded_chunk_by_chunk(readings: list[set[Detection]], size: int) -> None:
    frames = [Frame(number * 100, list(each)) for number, each in enumerate(readings)]
    chunks = [frames[start : start + size] for start in range(0, len(frames), size)]
    runs = [run for chunk in chunks for run in folded(chunk)]
    again = list(unfolded((frame.at_ms for frame in frames), runs))
    assert [(frame.at_ms, set(frame.detections)) for frame in again] == [
        (frame.at_ms, set(frame.detections)) for frame in frames
    ]


def test_a_picture_rests_when_others_are_missing_behind_it() -> None:
    times = [0, 100, 240, 400, 500]
    assert [rests(times, number, every_ms=100) for number in range(5)] == [False, False, True, False, True]
