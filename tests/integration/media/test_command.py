from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support import videos
from tests.support.videos import Studio
from touchline.apps.cli import media
from touchline.kernel import AlreadyExists
from touchline.media.errors import NotAVideo, TruncatedVideo

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path.with_suffix(".data")))


def test_probe_for_people(studio: Studio) -> None:
    answer = RUNNER.invoke(media.commands, ["probe", str(studio.make(videos.ROTATED))])
    assert answer.exit_code == 0
    assert answer.stdout.splitlines() == [
        "verdict    plays: browsers play its streams and its container",
        f"container  mp4, {studio.make(videos.ROTATED).stat().st_size} bytes, 6.000 s",
        "video      h264 (High), yuv420p, 180 x 320, turned by 90°, 25.000 pictures/s",
        "audio      aac (LC), 2 channels, 48000 Hz",
    ]


def test_probe_for_programs(studio: Studio) -> None:
    answer = RUNNER.invoke(media.commands, ["probe", "--json", str(studio.make(videos.SILENT))])
    document = json.loads(answer.stdout)
    assert (document["verdict"], document["duration_ms"], document["audio"]) == ("plays", 6000, None)
    assert document["video"]["frame_rate"] == {"numerator": 25, "denominator": 1}


def test_what_is_no_video(studio: Studio) -> None:
    answer = RUNNER.invoke(media.commands, ["probe", str(studio.write("text.mp4", "no video"))])
    assert isinstance(answer.exception, NotAVideo)


def make(*arguments: object) -> dict[str, Any]:
    answer = RUNNER.invoke(media.commands, [*map(str, arguments), "--json"])
    assert answer.exit_code == 0, answer.exception
    return json.loads(answer.stdout)


def test_hls_of_a_file(studio: Studio, tmp_path: Path) -> None:
    target = tmp_path / "stream"
    made = make("hls", studio.make(videos.SMALL), target)
    assert [each["name"] for each in made["renditions"]] == ["36p"]
    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*.*")) == [
        file["path"] for file in made["files"]
    ]
    assert names(tmp_path) == ["stream"]


def test_hls_for_people(studio: Studio, tmp_path: Path) -> None:
    answer = RUNNER.invoke(media.commands, ["hls", str(studio.make(videos.SMALL)), str(tmp_path / "stream")])
    playlist, rendition = answer.stdout.splitlines()
    assert playlist == f"playlist   {tmp_path / 'stream' / 'index.m3u8'}"
    assert rendition.startswith("rendition  36p, 64 x 36, ")
    assert "100%" in answer.stderr


def test_a_poster_of_a_file(studio: Studio, tmp_path: Path) -> None:
    target = tmp_path / "picture.jpg"
    made = make("poster", studio.make(videos.SMALL), target)
    assert (made["path"], made["width"], made["height"]) == (str(target), 64, 36)
    assert target.read_bytes().startswith(b"\xff\xd8")
    assert names(tmp_path) == ["picture.jpg"]


def test_a_storyboard_of_a_file(studio: Studio, tmp_path: Path) -> None:
    made = make("storyboard", studio.make(videos.SMALL), tmp_path / "board")
    assert made["tiled"]["tiles"] == 1
    assert names(tmp_path / "board") == ["storyboard.vtt", "storyboard_00.jpg"]


@pytest.mark.parametrize("command", ["hls", "poster", "storyboard"])
def test_what_exists_is_not_touched(command: str, studio: Studio, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    answer = RUNNER.invoke(media.commands, [command, str(studio.make(videos.SMALL)), str(target)])
    assert isinstance(answer.exception, AlreadyExists)
    assert target.read_text() == "mine"


@pytest.mark.parametrize("command", ["hls", "poster", "storyboard"])
def test_a_failure_leaves_nothing(command: str, studio: Studio, tmp_path: Path) -> None:
    broken = studio.cut(videos.MP4, 0.5)
    answer = RUNNER.invoke(media.commands, [command, str(broken), str(tmp_path / "target")])
    assert isinstance(answer.exception, TruncatedVideo)
    assert names(tmp_path) == []


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
