"""The searches that people are shown: in the README, the guides, the tutorial and on the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
GUIDES = (
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    *(ROOT / "docs" / "tutorial").glob("*.md"),
)
NAMES_OF_THE_DEMO = "harrow|kingsfold|ashdown|sørensen|sorenson|rovers"
PAGE = ROOT / "web" / "src" / "search" / "Introduction.tsx"


def commands(*words: str) -> list[str]:
    """What follows these words in the lines that people copy."""
    shown = [line for guide in GUIDES for line in guide.read_text().splitlines() if line.startswith("$ ")]
    parts = [shlex.split(line, comments=True)[2:] for line in shown if "touchline" in line]
    return [line[len(words)] for line in parts if tuple(line[: len(words)]) == words]


def page_examples() -> list[str]:
    _, listed, _ = re.split(r"const EXAMPLES|const KEYS", PAGE.read_text())
    return [double or single for double, single in re.findall(r"""\[(?:"(.+?)"|'(.+?)'), \"""", listed)]


def table_examples() -> list[str]:
    """Of the guide to the syntax: those that name something of the demo and no text on screen."""
    lines = (ROOT / "docs" / "howto" / "search.md").read_text().partition("| write |")[2].splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("| `")]
    found = [example for row in rows for example in re.findall("`(.+?)`", row)]
    return [example for example in found if re.search(NAMES_OF_THE_DEMO, example) and not re.search("[#@]|^-", example)]


def search_examples() -> list[str]:
    return [*commands("search"), *page_examples(), *table_examples()]
