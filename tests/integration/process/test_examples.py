"""The searches that the README, the guide and the page show find something in the demo."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from tests.support.examples import commands, page_examples, search_examples, table_examples
from touchline.apps.demonstration import DAY
from touchline.process.search.model import GoalShown, VideoSubject, labels_of, texts_of, with_goal
from touchline.process.search.service import SearchRequest, VideoSearch
from touchline.process.search.store import VideoSubjectStore
from touchline.watch.archive.rules import GoalFactsForTitle, title
from touchline.watch.model import GoalRef
from touchline.watch.views.rules import is_named
from touchline_world.days.loader import read_day
from touchline_world.days.truth import truth

from .conftest import QueueHarness

VIDEO = """
INSERT INTO process.videos (tenant_id, video_id, s3_original_path, size_bytes, content_type)
VALUES (platform.current_tenant(), %(video_id)s, 'videos/original/x', 1, 'video/mp4')
"""


def goals_of_the_demo() -> list[GoalShown]:
    """Those that stand, as watch names their videos."""
    told = truth(read_day(DAY)[1])
    matches = {match["id"]: match for match in told["matches"]}
    return [shown(goal, matches[goal["match"]]) for goal in told["goals"] if goal["outcome"] == "stands"]


def shown(goal: dict[str, Any], match: dict[str, Any]) -> GoalShown:
    home, away, player = match["home"]["name"], match["away"]["name"], goal["player"]["name"]
    ref, at = GoalRef(match["id"], goal["key"], 1), datetime(2026, 3, 14, 15, tzinfo=UTC)
    facts = GoalFactsForTitle(ref, at, home, away, 1, 0, player, goal["elapsed"], goal["extra"])
    return GoalShown(title(facts), match["id"], home, away, player)


def test_there_are_examples() -> None:
    assert (len(page_examples()), len(commands("search")), len(table_examples())) == (6, 4, 7)


async def test_every_example_finds_something(harness: QueueHarness) -> None:
    async with harness.database.transaction(harness.tenant_id) as transaction:
        store = VideoSubjectStore(transaction.connection)
        for goal in goals_of_the_demo():
            video_id, subject = uuid4(), with_goal(VideoSubject(), goal, 1)
            await transaction.connection.execute(VIDEO, {"video_id": video_id})
            await store.save_texts(video_id, texts_of(subject))
            await store.save_labels(video_id, labels_of(subject))
    for example in search_examples():
        assert (await VideoSearch(harness.database).page(harness.tenant_id, SearchRequest(example))).hits, example


@pytest.mark.parametrize("query", commands("watch", "matches"))
def test_examples_of_matches_name_one(query: str) -> None:
    assert query == "QUERY" or any(
        is_named(query, f"{goal.home_team} {goal.away_team}") for goal in goals_of_the_demo()
    )
