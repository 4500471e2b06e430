"""The SQL in `migrations`: what is in it once stays in it once."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from touchline.platform.postgres.migrations import SCHEMAS, Baseline, migrations_folder, read_baselines

OBJECT = re.compile(
    r"^CREATE\s+(?:OR\s+REPLACE\s+)?"
    r"(FUNCTION|PROCEDURE|TABLE|VIEW|TYPE|SEQUENCE)\s+(?:IF\s+NOT\s+EXISTS\s+)?([a-z0-9_.]+)",
    re.MULTILINE | re.IGNORECASE,
)
CHANGE = re.compile(
    r"^(?:CREATE\s+OR\s+REPLACE|DROP|ALTER\s+TABLE\s+\S+\s+(?:ADD|DROP|RENAME)|ALTER\s+TABLE.*\bTYPE\b|UPDATE|DELETE)\b.*",
    re.MULTILINE | re.IGNORECASE,
)


def objects(sql: str) -> list[tuple[str, str]]:
    return [(kind.upper(), name.lower()) for kind, name in OBJECT.findall(sql)]


@pytest.fixture(params=SCHEMAS)
def baseline(request: pytest.FixtureRequest) -> Baseline:
    [found] = read_baselines(migrations_folder(), [request.param])
    return found


def test_every_schema_has_a_baseline() -> None:
    assert sorted(path.name for path in migrations_folder().iterdir() if path.is_dir()) == sorted(SCHEMAS)


def test_nothing_is_defined_twice() -> None:
    files = [text for each in read_baselines(migrations_folder()) for text in each.files.values()]
    counts = Counter(found for text in files for found in objects(text))
    assert counts["FUNCTION", "process.claim"] == 1
    assert [found for found, count in counts.items() if count > 1] == []


def test_a_baseline_changes_nothing_that_it_made(baseline: Baseline) -> None:
    """A column is added where its table is created, not by a later statement."""
    assert baseline.files
    assert {name: CHANGE.findall(text) for name, text in baseline.files.items() if CHANGE.search(text)} == {}


def test_every_file_begins_with_what_it_is_about(baseline: Baseline) -> None:
    assert [name for name, text in baseline.files.items() if not text.startswith("-- ")] == []


def test_a_second_definition_and_a_later_change_are_noticed() -> None:
    twice = "CREATE FUNCTION a.b() RETURNS int\nRETURN 1;\ncreate or replace function a.b() RETURNS int\nRETURN 2;"
    assert objects(twice) == [("FUNCTION", "a.b")] * 2
    assert CHANGE.search(twice)
    assert CHANGE.search("ALTER TABLE a.t ADD COLUMN c int;")
    assert not CHANGE.search("ALTER TABLE a.t SET (fillfactor = 45);")
