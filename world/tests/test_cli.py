"""`touchline world`, as far as it needs no server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from touchline.apps.cli import run


def test_a_programme_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["world", "day", "--seed", "7"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Match day 7, 2026-03-14: 4 matches, 11 goals\n")
    assert "AC Valdoro - Romagnola Calcio" in shown


def test_a_script_that_was_written_makes_the_same_day(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = str(tmp_path / "day.yaml")
    assert run(["world", "day", "--seed", "7", "--write", file, "--json"]) == 0
    written = capsys.readouterr().out
    assert run(["world", "day", "--script", file, "--json"]) == 0
    assert capsys.readouterr().out == written
    assert {"matches", "goals", "posts", "faults"} <= set(json.loads(written))


def test_a_wrong_script_is_refused_with_its_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text("matches:\n  - home: HAR\n    away: Nobody\n", "utf-8")
    assert run(["world", "day", "--script", str(file), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "invalid_input"
    assert "matches[0].away (line 3)" in error["why"]


def test_a_file_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["world", "day", "--write", str(tmp_path / "none" / "day.yaml")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_teams_that_a_script_can_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["world", "teams", "--json"]) == 0
    teams = json.loads(capsys.readouterr().out)
    assert ("Harrowmere Rovers", "HAR") in {(team["name"], team["code"]) for team in teams}
