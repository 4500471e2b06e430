from __future__ import annotations

from uuid import UUID

import pytest

from touchline.kernel.errors import InvalidInput
from touchline.media.engines.model import Box, TextRegion
from touchline.process.ocr.rules import kept, language_of, request_of, wanted_paths
from touchline.process.queue.payloads import OcrPayload
from touchline.process.sampling.rules import step_ms

VIDEO = UUID("a1b2c3d4-e5f6-7890-abcd-ef1234567890")
BOX = Box(0, 0, 9, 9)


def region(text: str, confidence: float = 0.9, language: str | None = None) -> TextRegion:
    return TextRegion(text, BOX, confidence, language, 0)


def test_a_folder_stands_for_all_pictures_and_names_for_themselves() -> None:
    one, two = f"frames/{VIDEO}/1/0.jpg", f"frames/{VIDEO}/1/100.jpg"
    assert wanted_paths(VIDEO, [f"frames/{VIDEO}/1"]) is None
    assert wanted_paths(VIDEO, [two, one, two]) == [one, two]
    assert wanted_paths(VIDEO, [one, f"frames/{VIDEO}/1"]) is None
    with pytest.raises(InvalidInput, match="not a picture of this video"):
        wanted_paths(VIDEO, ["frames/another/1/0.jpg"])


@pytest.mark.parametrize("change", [{"languages": ("deu",)}, {"min_confidence": 0.7}, {"frame_paths": ("frames/x",)}])
def test_another_request_is_told_apart(change: dict[str, object]) -> None:
    asked = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}/1",))
    same = OcrPayload(video_id=VIDEO, frame_paths=(f"frames/{VIDEO}/2",))
    assert request_of(asked, "rapidocr", 1) == request_of(same, "rapidocr", 1)
    assert request_of(asked, "rapidocr", 1) != request_of(asked, "tesseract", 1)
    if "frame_paths" in change:
        change = {"frame_paths": (f"frames/{VIDEO}/1/0.jpg",)}
    assert request_of(asked, "rapidocr", 1) != request_of(asked.model_copy(update=change), "rapidocr", 1)


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
    assert [each.detection.text for each in kept([region(text), region("unsure", 0.59)], asked)] == stored


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
