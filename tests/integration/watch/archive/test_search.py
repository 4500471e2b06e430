"""From the feed to the search: what watch tells of a goal's videos is what people find them by, over the real log."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace

import pytest

from tests.support.goals import entry, match
from touchline.contracts.tenants import Owner
from touchline.kernel import ArtifactHash, video_id
from touchline.platform.events.consumer import Consumer
from touchline.platform.events.log import EVENTS_CHANNEL, Archive, PostgresLog, Sequencer
from touchline.platform.postgres.database import Wakeups
from touchline.platform.settings import EventSettings
from touchline.process.intake import IntakeConsumer
from touchline.process.search.consumer import VideoLabelConsumer
from touchline.process.search.service import SearchRequest, VideoSearch
from touchline.serve.watched.consumer import WatchedVideos
from touchline.watch.fixtures.feed_documents import FeedFixture, Team
from touchline.watch.goals.service import apply_poll
from touchline.watch.model import GoalRef

from .conftest import FIXTURE, KICK_OFF, NOW, Place

HOME, AWAY = Team(40, "Northport"), Team(41, "Göteryd")
GOAL = GoalRef(5000, "5000_40_1001_Goal_1")
EVENTS = EventSettings()
POLLS = 3  # until a goal is believed, and until one that is missing is not


def listing(*players: str) -> FeedFixture:
    """The match with one goal of each, all of the same number."""
    goals = [entry(23, 1001, HOME, player_name=player) for player in players]
    return replace(match(*goals, home=len(goals)), home=HOME, away=AWAY)


@dataclass(slots=True)
class Chain:
    """The feed at one end, the search at the other, and nothing but the log between them."""

    place: Place
    sequencer: Sequencer
    consumers: list[Consumer]
    polls: int = field(default=0)

    async def polled(self, fixture: FeedFixture, times: int = POLLS) -> None:
        context = self.place.context
        for _ in range(times):
            self.polls += 1
            async with context.database.transaction(context.owner.tenant_id) as transaction:
                run, now = f"run-{self.polls}", self.place.clock.now()
                await apply_poll(transaction, fixture, run, now, self.place.settings)

    async def settled(self) -> None:
        """Until nobody has anything to do any more: consumers announce, too."""
        while await self.sequencer.step() > 0:
            for consumer in self.consumers:
                position = await consumer.position()
                while (reached := await consumer.step(position)) > position:
                    position = reached

    async def found(self, *questions: str) -> list[set[str]]:
        """By each of the questions."""
        context = self.place.context
        search = VideoSearch(context.database)
        pages = [await search.page(context.owner.tenant_id, SearchRequest(question)) for question in questions]
        return [{str(hit.video_id) for hit in page.hits} for page in pages]


class Owning:
    """The owner of the place answers for its videos."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    async def named(self, tenant: str) -> Owner | None:
        return self._owner if tenant == str(self._owner.tenant_id) else None

    async def first(self) -> Owner | None:
        return self._owner


@pytest.fixture
async def chain(place: Place) -> AsyncGenerator[Chain]:
    context = place.context
    async with Wakeups(context.database.url, [EVENTS_CHANNEL]).listening() as wakeups:
        log = PostgresLog(context.database, wakeups, Archive(context.database, context.objects, EVENTS, place.clock))
        handlers = (
            WatchedVideos(context.objects, Owning(context.owner), place.clock),
            IntakeConsumer(),
            VideoLabelConsumer(),
        )
        consumers = [Consumer(context.database, log, handler, EVENTS) for handler in handlers]
        yield Chain(place, Sequencer(context.database, wakeups, EVENTS), consumers)


async def test_a_goals_video_is_found_by_what_the_feed_says_of_it_now(chain: Chain) -> None:
    place = chain.place
    await place.execute(FIXTURE, id=GOAL.fixture_id, kick_off=KICK_OFF, now=NOW)
    await chain.polled(listing("M. Sørensen"))
    await place.queue(GOAL, await place.found(GOAL, "abc"))
    assert await place.archive(GOAL) == 1
    [kept] = await place.videos(GOAL)
    video = {str(video_id(ArtifactHash(kept.artifact_hash)))}
    assert await chain.found("team:northport") == [set()]  # nobody has told of it yet
    await chain.settled()
    asked = ("team:northport", "team:goteryd", "match:5000", "player:sorensen", "player:lindqvist", "lindqvist")
    assert await chain.found(*asked) == [video, video, video, video, set(), set()]

    await chain.polled(listing("A. Lindqvist"), times=1)  # of the same number: the goal itself stays
    assert [each.artifact_hash for each in await place.videos(GOAL)] == [kept.artifact_hash]
    await chain.settled()
    assert await chain.found(*asked, "sorensen") == [video, video, video, set(), video, video, set()]

    await chain.polled(listing())
    assert await place.videos(GOAL) == []
    await chain.settled()
    assert await chain.found(*asked, "northport") == [set()] * 7
