"""Whatever is given for whatever argument of whatever command: a typed error or a good answer, never a defect of ours.

A new command is walked as soon as it exists. None of them has a running product here: what they refuse, they refuse
before they ask for one.
"""

from __future__ import annotations

import enum
import io
import json
from pathlib import Path

import pytest

from tests.support.wild_arguments import NUMBERS, TEXTS, Place, places
from touchline.apps.cli import run
from touchline.kernel import SURFACES, InvalidInput

PLACES = list(places())
# What they accept they serve, until they are told to stop. Their numbers, choices and paths are tried all the same.
SERVERS = {("up",), ("demo",), ("run",), ("world", "serve"), ("world", "encoder"), ("world", "videos")}
LONGEST_ANSWER = 5000
REFUSED = SURFACES[InvalidInput.code].exit
IMPOSSIBLE = ("five thousand digits", "a long text")  # no file system has such a name


def test_all_commands_are_walked() -> None:
    assert len(PLACES) > 200
    assert {place.command for place in PLACES} > SERVERS - {("up",)}


@pytest.mark.parametrize("place", [place for place in PLACES if place.is_number and not place.has_parser], ids=str)
def test_a_number_has_limits(place: Place) -> None:
    """So that no command has to think about one that no column, no clock and no memory holds."""
    assert None not in place.limits


@pytest.mark.parametrize("place", [place for place in PLACES if place.is_number], ids=str)
def test_a_wild_number_is_refused(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _in_an_empty_folder(tmp_path, monkeypatch)
    for what, value in NUMBERS.items():
        code = run(place.call(value))
        answer = capsys.readouterr().out
        assert code == REFUSED, f"{what}: {answer[:500]}"
        assert json.loads(answer)["error"]["code"] == InvalidInput.code
        assert place.name.strip("-").replace("_", "") in answer.lower().replace("_", ""), f"{what}: {answer[:500]}"
        assert len(answer) < LONGEST_ANSWER
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", [place for place in PLACES if not place.is_number], ids=str)
def test_a_wild_text_is_no_defect(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _in_an_empty_folder(tmp_path, monkeypatch)
    for what, value in TEXTS.items():
        if _would_serve(place, what):
            continue
        code = run(place.call(value))
        answer = capsys.readouterr().out
        error = json.loads(answer).get("error") if answer.lstrip().startswith("{") else None
        assert (error or {}).get("code") not in ("internal", "unavailable"), f"{what}: {answer[:500]}"
        assert code == 0 or error, f"{what}: {answer[:500]}"
        assert code == 0 or len(answer) < LONGEST_ANSWER, what


def _would_serve(place: Place, what: str) -> bool:
    if place.command not in SERVERS or issubclass(place.kind, enum.Enum):
        return False
    return not (issubclass(place.kind, Path) and what in IMPOSSIBLE)


def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setenv("TOUCHLINE_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
