"""Titles and goals that events tell of, found by search on the real database, in any order of the events."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import permutations
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.support.events import new_tenant
from touchline.contracts.events import Event, Payload
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactRegistered,
    ArtifactRenamed,
    ArtifactType,
    ArtifactUndeleted,
    OriginalStored,
)
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoLabeled
from touchline.kernel import TenantId
from touchline.process.intake.consumer import Intake
from touchline.process.labels.consumer import VideoLabels
from touchline.process.search.model import Hit
from touchline.process.search.service import Question, Search

from .conftest import World, original_path

SAKA, GOMEZ = "Arsenal 1-0 Liverpool, B. Saka 23'", "Arsenal 1-0 Liverpool, J. Gómez 23'"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
GOAL: dict[str, Any] = {"event_id": "4200_1_2_Goal_1", "generation": 1, "fixture_id": 4200}


class Story:
    """One video, and what is told of it."""

    def __init__(self, world: World, tenant_id: TenantId) -> None:
        self.world, self.tenant_id, self.video_id = world, tenant_id, uuid4()

    def stored(self) -> Payload:
        key = original_path(self.video_id)
        return OriginalStored(artifact_hash=self.video_id.hex, original_key=key, size_bytes=1, content_type="video/mp4")

    def registered(self, title: str, kind: ArtifactType = ArtifactType.UPLOAD) -> Payload:
        names = {"playback_id": "p", "internal_name": "i", "user_id": None}
        return ArtifactRegistered(artifact_hash=self.video_id.hex, artifact_type=kind, title=title, **names)

    def renamed(self, title: str) -> Payload:
        return ArtifactRenamed(artifact_hash=self.video_id.hex, title=title)

    def labeled(self, title: str, player: str) -> Payload:
        teams: dict[str, Any] = {"home_team": "Arsenal", "away_team": "Liverpool", "player": player}
        return GoalVideoLabeled(artifact_hash=self.video_id.hex, title=title, **GOAL, **teams)

    def dropped(self) -> Payload:
        return GoalVideoDropped(artifact_hash=self.video_id.hex, why="annulled", **GOAL)

    def lifecycle(self, status: str) -> Payload:
        kind = {"artifact_type": ArtifactType.UPLOAD, "internal_name": "i", "user_id": None}
        return ArtifactLifecycle(artifact_hash=self.video_id.hex, status=status, **kind)

    async def happens(self, *told: tuple[Payload, int]) -> None:
        """Each consumer takes what it wants, each event in a transaction of its own."""
        for position, (payload, revision) in enumerate(told):
            event = Event(
                id=uuid4(),
                type=payload.event_type,
                version=1,
                tenant_id=self.tenant_id,
                key=payload.key,
                revision=revision,
                occurred_at=NOW,
                trace=None,
                data=payload.model_dump(mode="json"),
                position=position,
            )
            for handler in (Intake(), VideoLabels()):
                if event.type in handler.types:
                    async with self.world.database.transaction(self.tenant_id) as transaction:
                        await handler.handle(transaction, [event])

    async def hits(self, text: str) -> list[Hit]:
        return list((await Search(self.world.database).page(self.tenant_id, Question(text))).hits)

    async def found(self, text: str) -> set[UUID]:
        return {hit.video_id for hit in await self.hits(text)}


@pytest.fixture
def story(world: World) -> Story:
    return Story(world, world.tenant_id)


async def test_a_corrected_goal_ends_right_in_any_order(world: World) -> None:
    for number, order in enumerate(permutations(range(4))):
        story = Story(world, new_tenant())
        events = [
            (story.stored(), 1),
            (story.registered(SAKA), 1),
            (story.labeled(SAKA, "B. Saka"), 1),
            (story.labeled(GOMEZ, "J. Gómez"), 3),
        ]
        await story.happens(*(events[place] for place in order), events[number % 4])
        assert await story.found("player:gomez") == {story.video_id}, order
        assert await story.found("player:saka") == await story.found("saka") == set(), order
        [hit] = await story.hits("gomez arsenal")
        assert (hit.text, hit.where, hit.box, hit.start_ms) == (GOMEZ, "match", None, 0), order
        assert [part.text for part in hit.fragments if part.matched] == ["Arsenal", "Gómez"]


async def test_a_match_is_found_by_its_teams_and_its_id(story: Story) -> None:
    other = Story(story.world, story.tenant_id)
    await story.happens((story.stored(), 1), (story.labeled(SAKA, "B. Saka"), 1))
    await other.happens((other.stored(), 1), (other.registered("Arsenal training"), 1))
    asked = ("team:liverpool", "match:4200", 'match:"liverpool arsenal"', 'player:"b. saka"', "team:arsenal saka")
    assert [await story.found(query) for query in asked] == [{story.video_id}] * 5
    assert await story.found("arsenal") == {story.video_id, other.video_id}
    assert await story.found("arsenal where:title") == {other.video_id}
    assert await story.found("arsenal where:match") == {story.video_id}
    assert await story.found("arsenal where:picture") == await story.found("player:liverpool") == set()
    assert await Story(story.world, new_tenant()).found("arsenal") == set()


async def test_an_annulled_goal_is_found_by_nothing_in_any_order(world: World) -> None:
    for order in permutations(range(4)):
        story = Story(world, new_tenant())
        events = [
            (story.stored(), 1),
            (story.labeled(SAKA, "B. Saka"), 1),
            (story.labeled(GOMEZ, "J. Gómez"), 2),
            (story.dropped(), 3),
        ]
        await story.happens(*(events[place] for place in order))
        assert await story.found("player:gomez") == await story.found("gomez") == await story.found("saka") == set()


async def test_a_title_waits_for_its_video_and_goes_and_comes_with_it(story: Story) -> None:
    await story.happens((story.registered("Derby day"), 1))
    assert await story.found("derby") == set()
    await story.happens((story.stored(), 1))
    [hit] = await story.hits("derby")
    assert (hit.text, hit.where, hit.confidence) == ("Derby day", "title", 1.0)
    await story.happens((story.renamed("Cup final"), 4), (story.registered("Derby day"), 1))
    assert (await story.found("derby"), await story.found("cup")) == (set(), {story.video_id})
    await story.happens((story.lifecycle("deleted"), 2))
    assert await story.found("cup") == set()
    await story.happens((story.renamed("Cup final 2026"), 5), (ArtifactUndeleted(artifact_hash=story.video_id.hex), 3))
    assert await story.found('"final 2026"') == {story.video_id}
    await story.world.execute("SELECT process.refresh_search_materialized()")
    assert await story.found('"final 2026"') == {story.video_id}
    assert await story.found("derby") == set()


async def test_a_clip_is_found_by_its_video(story: Story) -> None:
    await story.happens((story.registered("A clip", ArtifactType.CLIP), 1))
    assert await story.world.execute("SELECT 1 FROM process.video_texts") == []
