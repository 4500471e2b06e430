from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st

from touchline.kernel import InvalidInput
from touchline.media.engines.model import Box, TextRegion
from touchline.process.ocr.rules import (
    FrameText,
    TextRun,
    append_frame,
    compress_runs,
    confident_texts,
    expand_runs,
    is_still,
    language_of,
    ocr_request,
    wanted_paths,
)
from touchline.process.queue.jobs import OcrPayload
from touchline.process.sampling.rules import step_ms
from touchline.process.segments.rules import Detection, ReadFrame

VIDEO = UUID("a1b2c3d4-e5f6-7890-abcd-ef1234567890")
BOX = Box(0, 0, 9, 9)


def region(text: str, confidence: float = 0.9, language: str | None = None) -> TextRegion:
    return TextRegion(text, BOX, confidence, language, 0)


def test_a_folder_stands_for_all_pictures_and_names_for_themselves() -> None:
    one, two = f"frames/{VIDEO}/1/0.jpg", f"frames/{VIDEO}/1/100.jpg"
    assert wanted_paths(VIDEO, [f"frames/{VIDEO}/1"]) is None
    assert wanted_paths(VIDEO, [two, one, two]) == [one, two]
    assert wanted_paths(VIDEO, [one, f"frames/{VIDEO}/1"]) is None
    with pytest.raises(InvalidInput, match="not a frame of this video"):
        wanted_paths(VIDEO, ["frames/another/1/0.jpg"])


@pytest.mark.parametrize("change", [{"languages": ("deu",)}, {"min_confidence": 0.7}, {"frame_paths": ("frames/x",)}])
def test_another_request_is_told_apart(change: dict[str, object]) -> None:
    asked = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}/1",))
    same = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}/2",))
    assert ocr_request(asked, "rapidocr", 1) == ocr_request(same, "rapidocr", 1)
    assert ocr_request(asked, "rapidocr", 1) != ocr_request(asked, "tesseract", 1)
    if "frame_paths" in change:
        change = {"frame_paths": (f"frames/{VIDEO}/1/0.jpg",)}
    assert ocr_request(asked, "rapidocr", 1) != ocr_request(asked.model_copy(update=change), "rapidocr", 1)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Goal", ["Goal"]),
        (" two\tlines\u2029here ", ["two lines here"]),
        ("zero\u200bwidth\x00\ufeff", ["zerowidth"]),
        ("\u202eevil", ["evil"]),
        ("\u200b\x07", []),
        ("\ud800", []),
        ("a" * 3000, ["a" * 2000]),
    ],
)
def test_what_is_kept_can_be_stored_and_seen(text: str, stored: list[str]) -> None:
    asked = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}/1",))
    assert [each.detection.text for each in confident_texts([region(text), region("unsure", 0.59)], asked)] == stored


@pytest.mark.parametrize(
    ("text", "said", "asked", "language"),
    [
        ("Goal 1-0", None, ["eng"], "eng"),
        ("Tor", "deu", ["eng"], "deu"),
        ("\u0413\u043e\u043b", None, ["eng"], None),
        ("\u0413\u043e\u043b", None, ["rus"], "rus"),
        ("1-0", None, ["eng"], None),
        ("Goal", None, ["eng", "deu"], None),
        ("Goal", None, ["tlh"], None),
    ],
)
def test_a_language_is_only_said_where_it_is_known(
    text: str, said: str | None, asked: list[str], language: str | None
) -> None:
    assert language_of(region(text, language=said), asked) == language


@pytest.mark.parametrize(
    ("target_fps", "duration_ms", "every_ms"),
    [(10, 60_000, 100), (240, 1000, 10), (0.5, 1000, 2000), (10, 6 * 3600_000, 108), (10, 0, 100)],
)
def test_how_often_a_video_is_looked_at(target_fps: float, duration_ms: int, every_ms: int) -> None:
    assert step_ms(target_fps, duration_ms) == every_ms


A, B = Detection("Goal", Box(0, 0, 9, 9), 0.9), Detection("1-0", Box(20, 0, 9, 9), 0.8, "eng")


def test_what_stands_unchanged_is_one_run() -> None:
    frames = [ReadFrame(0, [A]), ReadFrame(100, [B, A]), ReadFrame(200, [B]), ReadFrame(300), ReadFrame(400, [B])]
    assert set(compress_runs(frames)) == {TextRun(0, 100, A), TextRun(100, 200, B), TextRun(400, 400, B)}


def test_a_text_that_is_named_late_stands_from_its_beginning_on() -> None:
    frames = [ReadFrame(0, [A]), ReadFrame(100, [A]), ReadFrame(200, [A])]
    assert append_frame(frames, 300, [FrameText(A, 0), FrameText(B, 100)]) == [
        ReadFrame(0, [A]),
        ReadFrame(100, [A, B]),
        ReadFrame(200, [A, B]),
        ReadFrame(300, [A, B]),
    ]


def test_a_text_whose_box_moved_a_little_is_not_added_again() -> None:
    moved = Detection(A.text, Box(1, 0, 9, 9), A.confidence)
    assert append_frame([ReadFrame(0, [A]), ReadFrame(100, [A])], 200, [FrameText(moved, 0)])[:2] == [
        ReadFrame(0, [A]),
        ReadFrame(100, [A]),
    ]


def test_a_text_that_came_back_is_added_behind_its_gap_only() -> None:
    frames = [ReadFrame(0, [A]), ReadFrame(100), ReadFrame(200)]
    assert append_frame(frames, 300, [FrameText(A, 200)]) == [
        ReadFrame(0, [A]),
        ReadFrame(100),
        ReadFrame(200, [A]),
        ReadFrame(300, [A]),
    ]


READINGS = st.lists(
    st.sets(st.builds(Detection, st.sampled_from("abc"), st.just(Box(0, 0, 1, 1)), st.just(0.9))), max_size=12
)


@settings(max_examples=30)
@given(READINGS, st.integers(1, 4))
def test_what_is_unfolded_is_what_was_folded_chunk_by_chunk(readings: list[set[Detection]], size: int) -> None:
    frames = [ReadFrame(number * 100, list(each)) for number, each in enumerate(readings)]
    chunks = [frames[start : start + size] for start in range(0, len(frames), size)]
    runs = [run for chunk in chunks for run in compress_runs(chunk)]
    again = list(expand_runs((frame.at_ms for frame in frames), runs))
    assert [(frame.at_ms, set(frame.detections)) for frame in again] == [
        (frame.at_ms, set(frame.detections)) for frame in frames
    ]


def test_a_picture_rests_when_others_are_missing_behind_it() -> None:
    times = [0, 100, 240, 400, 500]
    assert [is_still(times, number, every_ms=100) for number in range(5)] == [False, False, True, False, True]
