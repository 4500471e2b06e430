"""Scripts: what may be written, what is said about the rest, and that writing and reading agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel

from touchline.kernel import InvalidInput, NotFound
from touchline_world.days import script as scripts
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.days.loader import dump, load, read_day
from touchline_world.days.script import Script
from touchline_world.days.values import HOUR, MINUTE, Minute, read_duration, write_duration

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs/reference/world-script.md"
HOW_TO = ROOT / "docs/howto/script-a-day.md"
MATCH = "matches:\n  - home: HAR\n    away: KIN\n"


def test_five_lines_make_a_lively_day(tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(f"seed: 3\n{MATCH}    kick_off: 15:30\n", "utf-8")
    _, day = read_day(file)
    assert day.fixtures[0].kick_off_ms == 15 * HOUR + 30 * MINUTE
    assert len(day.goals) == 3
    assert len(day.posts) > 10


def test_a_day_that_is_played_again_differs_in_the_ids_of_its_matches_alone() -> None:
    script = load(f"seed: 3\n{MATCH}")
    first, second = build(script), build(script.model_copy(update={"playing": 2}))
    [one], [other] = first.fixtures, second.fixtures
    assert one.id != other.id
    said, again = (repr(day).replace(f"id={day.fixtures[0].id}", "its own id") for day in (first, second))
    assert said == again


@pytest.mark.parametrize(
    "match",
    [
        *(f"abandoned: {{minute: {minute}}}" for minute in (1, 8, 13, 45, 46, 89)),
        "extra_time: true",
        "shoot_out: {}",
        "extra_time: true, shoot_out: {}",
        "minute_lasts: 1s",
        "late_kick_off: 50m",
        "postponed: {}",
    ],
)
def test_any_match_without_incidents_is_a_day(match: str) -> None:
    script = load(f"matches:\n  - {{home: HAR, away: KIN, {match}}}\n")
    assert build(script).fixtures[0].phases


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("matches: [", "line 1"),
        ("", "no top-level keys"),
        ("- a\n", "no top-level keys"),
        ("seed: 3\n", "matches (line 1): Field required"),
        (f"{MATCH}    home: DUN\n", "line 4, column 5: duplicate key 'home'"),
        (f"{MATCH}    kickoff: 15:00\n", "matches[0].kickoff (line 4): unknown key"),
        (f"{MATCH}    kick_off: 25 o'clock\n", "matches[0].kick_off (line 4): a time of the day is written like"),
        (f"{MATCH}    incidents:\n      - {{kind: gaol, minute: 3, side: home}}\n", "matches[0].incidents[0] (line 5)"),
        (f"{MATCH}    incidents:\n      - {{kind: goal, minute: 0, side: home}}\n", "minute (line 5): a minute of the"),
        (
            f"{MATCH}    incidents:\n      - {{kind: goal, minute: 3, side: home,\n         told_after: soon}}\n",
            "matches[0].incidents[0].told_after (line 6): a duration is written like 20s, 3m or 1h30m",
        ),
        (
            "matches:\n  - home: Harrowmare Rovers\n    away: KIN\n",
            "matches[0].home (line 2): these come close: Harrow",
        ),
        ("matches:\n  - home: HAR\n    away: 70101\n", "matches[0].away (line 3)"),
        (f"{MATCH}  - home: HAR\n    away: DUN\n", "matches[1].home (line 4)"),
        (f"{MATCH}    league: 7\n", "matches[0].league (line 4): there are 39 (Premier League)"),
        (
            f"{MATCH}    incidents:\n      - {{kind: goal, minute: 3, side: home, player: Tyrone Adams}}\n",
            "matches[0].incidents[0].player (line 5)",
        ),
        (
            f"{MATCH}    incidents:\n      - {{kind: goal, minute: 3, side: home, corrected: {{after: 9, player: N}}}}",
            "matches[0].incidents[0].corrected.player (line 5)",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "day.yaml"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidInput) as refused:
        read_day(file)
    assert said in refused.value.why
    assert "day.yaml" in refused.value.what
    assert refused.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="cannot be read"):
        read_day(tmp_path / "none.yaml")


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="is not text"):
        read_day(tmp_path / "day.yaml")


def test_words_that_older_yaml_took_for_something_else() -> None:
    read = load("name: no\nmatches:\n  - {home: HAR, away: KIN, kick_off: 15:30, minute_lasts: 45}\n")
    assert read.name == "no"
    assert read.matches[0].kick_off == 15 * HOUR + 30 * MINUTE
    assert read.matches[0].minute_lasts == 45_000


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), matches=st.integers(1, 4), troubled=st.floats(0, 1))
def test_a_script_that_was_written_reads_the_same(seed: int, matches: int, troubled: float) -> None:
    script = generate(GeneratorOptions(seed, matches, troubled=troubled))
    assert load(dump(script)) == script


@given(st.integers(0, 48 * HOUR))
def test_durations_read_as_they_were_written(duration_ms: int) -> None:
    assert read_duration(write_duration(duration_ms)) == duration_ms


@pytest.mark.parametrize("seed", range(3))
def test_another_match_does_not_change_the_others(seed: int) -> None:
    few, many = generate(GeneratorOptions(seed, matches=3)), generate(GeneratorOptions(seed, matches=8))
    assert many.matches[:3] == few.matches


def parts(model: type[BaseModel]) -> set[type[BaseModel]]:
    """A model of the script, and all that its fields are made of."""
    found = {model}
    for field in model.model_fields.values():
        waiting: list[Any] = [field.annotation]
        while waiting:
            each = waiting.pop()
            waiting += get_args(each)
            if isinstance(each, type) and issubclass(each, BaseModel) and each not in found:
                found |= parts(each)
    return found


KEYS = sorted({(part.__name__, key) for part in parts(Script) for key in part.model_fields})
SECTIONS = {
    "Script": "The day",
    "Match": "A match",
    "CalledOff": "A match",
    "Abandonment": "A match",
    "Interruption": "A match",
    "Reordering": "A match",
    "ScriptedStatus": "A match",
    "ShootOut": "A match",
    "GoalIncident": "An incident",
    "OtherIncident": "An incident",
    "Substitution": "An incident",
    "Correction": "An incident",
    "FeedGlitch": "An incident",
    "Posts": "The posts about a goal",
    "ScriptedFault": "A fault",
}


@pytest.mark.parametrize(("part", "key"), KEYS)
def test_every_key_is_documented(part: str, key: str) -> None:
    section = REFERENCE.read_text("utf-8").partition(f"## {SECTIONS[part]}\n")[2].partition("\n## ")[0]
    assert re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`", section), f"{part}.{key}"


@pytest.mark.parametrize("choices", [scripts.Transform, scripts.Delivery, scripts.Service, scripts.Trouble])
def test_every_choice_is_documented(choices: Any) -> None:
    text = REFERENCE.read_text("utf-8")
    assert [each.value for each in choices if f"`{each.value}`" not in text] == []


@pytest.mark.parametrize("page", [REFERENCE, HOW_TO], ids=lambda page: page.name)
def test_the_scripts_in_the_documentation_work(page: Path, tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert found
    for text in found:
        (tmp_path / "day.yaml").write_text(text, "utf-8")
        read_day(tmp_path / "day.yaml")


def test_minutes_sort_as_they_are_played() -> None:
    assert sorted([Minute(46), Minute(45, 2), Minute(45)]) == [Minute(45), Minute(45, 2), Minute(46)]
