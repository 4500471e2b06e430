from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import cv2
import pytest
from typer.testing import CliRunner

from tests.support.pictures import BUG, SIZE, broadcast_picture
from touchline.apps.cli.media import commands
from touchline.media.errors import NotAVideo

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path))


@pytest.fixture
def video(tmp_path: Path) -> Path:
    """Three seconds: the clock runs, the caption leaves after two."""
    path = tmp_path / "match.mp4"
    with av.open(str(path), "w") as output:
        stream = output.add_stream("libx264", rate=4, options={"crf": "23"})
        stream.width, stream.height, stream.pix_fmt = *SIZE, "yuv420p"
        for number in range(12):
            bug = replace(BUG, clock=f"67:{42 + number // 4}")
            shown = broadcast_picture(bug) if number < 8 else broadcast_picture(bug, None)
            frame = av.VideoFrame.from_ndarray(shown, format="bgr24")
            frame.pts, frame.time_base = number, Fraction(1, 4)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path


def test_a_video(video: Path) -> None:
    answer = RUNNER.invoke(commands, ["ocr", str(video), "--json", "--every", "0.5"])
    assert answer.exit_code == 0, answer.exception
    document = json.loads(answer.stdout)
    spans = {text["text"]: (text["start_ms"], text["end_ms"]) for text in document["texts"]}
    assert document["pictures"] == 6
    assert spans == {
        "ARS 2-1 CHE": (0, 3000),
        "67:42": (0, 1000),
        "67:43": (1000, 2000),
        "67:44": (2000, 3000),
        "Marta Silva": (0, 2000),
        "Head coach": (0, 2000),
    }
    assert "100%" in answer.stderr


def test_a_picture_for_people_read_by_tesseract(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    cv2.imwrite(str(path), broadcast_picture())
    answer = RUNNER.invoke(commands, ["ocr", str(path), "--engine", "tesseract"])
    assert answer.exit_code == 0, answer.exception
    head, *lines = answer.stdout.splitlines()
    assert head.split() == ["from", "s", "to", "s", "sure", "x,y,width,height", "text"]
    assert [line.split(maxsplit=4)[4] for line in lines] == ["67:42", "ARS 2-1 CHE", "Marta Silva", "Head coach"]


def test_what_is_neither(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("#EXTM3U\nfile:///etc/passwd\n")
    assert isinstance(RUNNER.invoke(commands, ["ocr", str(path)]).exception, NotAVideo)
