"""The searches that the README, the guide and the page show find something in the demo."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from touchline.apps.demonstration.profile import DAY
from touchline.process.labels.rules import GoalShown, Subject, labeled, labels, texts
from touchline.process.labels.store import SubjectStore
from touchline.process.search.service import Question, Search
from touchline.watch.archive.model import Facts
from touchline.watch.archive.rules import title
from touchline.watch.model import GoalRef
from touchline.watch.showing.rules import is_named
from touchline.world.days.loading import read_day
from touchline.world.days.truth import truth

from .conftest import World

ROOT = Path(__file__).parents[3]
GUIDES = (ROOT / "README.md", ROOT / "docs" / "howto" / "search.md")
PAGE = ROOT / "web" / "src" / "search" / "Introduction.tsx"
VIDEO = """
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
VALUES (platform.current_tenant(), %(video_id)s, 'videos/original/x', 1, 'video/mp4')
"""


def commands(*words: str) -> list[str]:
    """What follows these words in the lines that people copy."""
    shown = [line for guide in GUIDES for line in guide.read_text().splitlines() if line.startswith("$ ")]
    parts = [shlex.split(line, comments=True)[2:] for line in shown if "touchline" in line]
    return [line[len(words)] for line in parts if tuple(line[: len(words)]) == words]


def page_examples() -> list[str]:
    _, listed, _ = re.split(r"const EXAMPLES|const KEYS", PAGE.read_text())
    return [double or single for double, single in re.findall(r"""\[(?:"(.+?)"|'(.+?)'), \"""", listed)]


EXAMPLES = [*commands("search"), *page_examples()]


def goals_of_the_demo() -> list[GoalShown]:
    """Those that stand, as watch names their videos."""
    told = truth(read_day(DAY)[1])
    matches = {match["id"]: match for match in told["matches"]}
    return [shown(goal, matches[goal["match"]]) for goal in told["goals"] if goal["outcome"] == "stands"]


def shown(goal: dict[str, Any], match: dict[str, Any]) -> GoalShown:
    home, away, player = match["home"]["name"], match["away"]["name"], goal["player"]["name"]
    ref, at = GoalRef(match["id"], goal["key"], 1), datetime(2026, 3, 14, 15, tzinfo=UTC)
    facts = Facts(ref, at, home, away, 1, 0, player, goal["elapsed"], goal["extra"])
    return GoalShown(title(facts), match["id"], home, away, player)


def test_there_are_examples() -> None:
    assert (len(page_examples()), len(commands("search"))) == (6, 4)


async def test_every_example_finds_something(world: World) -> None:
    async with world.database.transaction(world.tenant_id) as transaction:
        store = SubjectStore(transaction.connection)
        for goal in goals_of_the_demo():
            video_id, subject = uuid4(), labeled(Subject(), goal, 1)
            await transaction.connection.execute(VIDEO, {"video_id": video_id})
            await store.save_texts(video_id, texts(subject))
            await store.save_labels(video_id, labels(subject))
    for example in EXAMPLES:
        assert (await Search(world.database).page(world.tenant_id, Question(example))).hits, example


@pytest.mark.parametrize("query", commands("watch", "matches"))
def test_examples_of_matches_name_one(query: str) -> None:
    assert query == "QUERY" or any(
        is_named(query, f"{goal.home_team} {goal.away_team}") for goal in goals_of_the_demo()
    )
