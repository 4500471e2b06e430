"""`touchline media clip` and `touchline media sample`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from tests.support import footage, videos
from tests.support.videos import Studio
from touchline.apps.cli import media
from touchline.apps.cli.command import milliseconds
from touchline.kernel import AlreadyExists
from touchline.media.errors import EmptyRange, NotAVideo

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("12.5", 12_500), ("0", 0), ("1:02.250", 62_250), ("1:00:02", 3_602_000), ("90:00", 5_400_000), ("0.0004", 0)],
)
def test_times(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "-1", "1:2:3:4", "1,5", "abc", "1e9", ":10", "1:", "٣"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        milliseconds(text)


def test_a_clip(studio: Studio, tmp_path: Path) -> None:
    target = tmp_path / "out.mp4"
    source = str(studio.make(footage.NUMBERED))
    arguments = ["clip", source, str(target), "--from", "0:03", "--to", "3.5", "--pad", "1.5", "--json"]
    answer = RUNNER.invoke(media.commands, arguments)
    document = json.loads(answer.stdout)
    assert (document["start_ms"], document["end_ms"], document["method"]) == (1520, 5000, "edges")
    assert document["size_bytes"] == target.stat().st_size
    assert answer.stderr.splitlines()[-1] == "100%"
    again = RUNNER.invoke(media.commands, arguments)
    assert isinstance(again.exception, AlreadyExists)
    assert [path.name for path in tmp_path.iterdir() if path.name != "data"] == ["out.mp4"]


def test_a_clip_of_a_playlist(studio: Studio, tmp_path: Path) -> None:
    playlist = tmp_path / "index.m3u8"
    footage.run("-i", str(studio.make(footage.NUMBERED)), "-c", "copy", "-f", "hls", "-hls_time", "2", str(playlist))
    arguments = ["clip", str(playlist), str(tmp_path / "out.mp4"), "--from", "2", "--to", "4", "--json"]
    document = json.loads(RUNNER.invoke(media.commands, arguments).stdout)
    assert (document["start_ms"], document["end_ms"], document["frames"]) == (2000, 4000, 50)


def test_a_sample(studio: Studio, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    arguments = ["sample", str(studio.make(videos.SMALL)), str(folder), "--every", "0.5", "--similarity", "1"]
    answer = RUNNER.invoke(media.commands, arguments)
    assert answer.stdout == f"{folder}: 2 of 2 frames kept, 64 x 36\n"
    assert sorted(path.name for path in folder.iterdir()) == ["0.jpg", "520.jpg", "manifest.jsonl"]
    assert isinstance(RUNNER.invoke(media.commands, arguments).exception, AlreadyExists)


def test_what_fails_leaves_nothing(studio: Studio, tmp_path: Path) -> None:
    video, text = str(studio.make(videos.SMALL)), str(studio.write("text.mp4", "no video"))
    clip = RUNNER.invoke(media.commands, ["clip", video, str(tmp_path / "out.mp4"), "--from", "8", "--to", "9"])
    sample = RUNNER.invoke(media.commands, ["sample", text, str(tmp_path / "pictures")])
    assert isinstance(clip.exception, EmptyRange)
    assert isinstance(sample.exception, NotAVideo)
    assert [path.name for path in tmp_path.iterdir() if path.name != "data"] == []
