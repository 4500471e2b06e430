"""Files that the documentation names exist, and the walk through the code stays short enough to be walked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIFE = ROOT / "docs" / "explanation" / "life-of-a-video.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BASES = tuple(ROOT / each for each in ("", "src", "src/touchline", "world/src", "world/src/touchline_world"))
NAMED = re.compile(r"`([\w./-]+/[\w.-]+\.(?:py|sql|js|ts|tsx|proto))`")
LINKED = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
MOST_FILES = 25  # of one way


def named(text: str) -> Iterator[str]:
    return (found[1] for found in NAMED.finditer(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    missing = {path for path in named(text) if not any((base / path).is_file() for base in BASES)}
    missing |= {link for link in LINKED.findall(text) if not (page.parent / link).exists()}
    assert not missing


@pytest.mark.parametrize("way", ["An upload", "A job", "A goal"])
def test_a_way_through_the_code_is_about_twenty_files(way: str) -> None:
    _, _, after = LIFE.read_text("utf-8").partition(f"\n## {way}\n")
    files = set(named(after.partition("\n## ")[0]))
    assert 15 <= len(files) <= MOST_FILES
