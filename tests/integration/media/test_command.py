from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support import videos
from tests.support.videos import Studio
from touchline.apps.cli import media
from touchline.media.errors import NotAVideo

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def _own_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path))


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
