"""A goal with found videos in a real database, and a world over HTTP that has them, or does not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from tests.support.world import MINUTE, clip, day_of, post, served, world_of
from touchline.contracts.tenants import Owner
from touchline.kernel import ManualClock, TenantId, Unavailable, UserId
from touchline.media.fingerprint.model import INTERVAL_MS
from touchline.media.sandbox import Sandbox
from touchline.platform.files import Scratch, open_scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.watch.context import WatchContext
from touchline.watch.downloads.sources import Sources, open_sources
from touchline.watch.model import FeedMinute, FoundRef, GoalMinutes, GoalRef
from touchline.watch.settings import DownloadSettings, SecondWay
from touchline_world.application import build_app
from touchline_world.days.model import Clip, Delivery, Post
from touchline_world.social.cdn import SlowRate

NOW = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)
GOAL = GoalRef(9_000_001, "9000001_40_1001_Goal_1")
RUN = "download1-Northport-Sorensen-1vids-9000001_40_1001_Goal_1"
FAST = SlowRate(bytes_per_second=4_000_000)


def lasting(seconds: float, seed: int) -> Clip:
    made = clip(seed)
    return replace(made, recipe=replace(made.recipe, take=replace(made.recipe.take, length_ms=int(seconds * 1000))))


def written() -> dict[str, Post]:
    named = {
        "two videos": post(1, 55, "Both angles", clip(1), clip(2)),
        "same as the first": post(2, 55, "Look at this", clip(1)),
        "removed": replace(post(3, 56, "Soon gone", clip(3)), removed_ms=58 * MINUTE),
        "later": post(4, 90, "Not yet", clip(4)),
        "words": post(5, 56, "Only words"),
        "short": post(6, 56, "Blink", lasting(2.0, 5)),
    }
    delivered = {each.value: post(100 + n, 40, "Goal", clip(1, each)) for n, each in enumerate(Delivery)}
    return named | delivered


POSTS = written()


def found(name: str, video_index: int = 1) -> FoundRef:
    return FoundRef(POSTS[name].id, video_index)


@pytest.fixture(scope="session")
async def day(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[str]:
    """Where the world answers."""
    world, _ = world_of(day_of(list(POSTS.values())), tmp_path_factory.mktemp("downloads-world"), 60)
    async with served(build_app(world, pace=FAST)) as url:
        yield url


@pytest.fixture
def settings(day: str) -> DownloadSettings:
    return DownloadSettings(
        syndication_url=f"{day}/syndication", second_way=SecondWay.SYNDICATION, allow_hosts=(urlsplit(day).netloc,)
    )


@pytest.fixture
def sources(settings: DownloadSettings) -> Sources:
    return open_sources(settings)


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scratch]:
    with open_scratch(tmp_path_factory.mktemp("downloads-scratch")) as scratch:
        yield scratch


@dataclass(frozen=True)
class Said:
    rejected: str | None = None
    verified: bool = True
    football: bool = True
    screen: bool = False
    clock: str | None = "22:41"
    engines: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Opinion:
    """An engine whose opinion is known beforehand, and which may be away."""

    says: Said = field(default_factory=Said)
    away: int = 0  # how often it does not answer
    asked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # length, expected minute
    others: tuple[FeedMinute, ...] = ()  # the other goals of the match, at the last look

    def moments(self, duration_ms: int) -> tuple[int, ...]:
        return (duration_ms // 2,)

    async def judge(self, stills: Any, duration_ms: int, minutes: GoalMinutes, heartbeat: Any) -> Said:
        heartbeat("looking")
        if self.away:
            self.away -= 1
            raise Unavailable("no engine answers")
        [picture] = stills
        assert 0 <= picture.at_ms - duration_ms // 2 <= INTERVAL_MS
        self.asked.append((duration_ms, minutes.goal.clock_minute))
        self.others = minutes.others
        return self.says


@dataclass(frozen=True)
class Pitch:
    """Everything that downloads stand on, and a look at the tables."""

    context: WatchContext
    sandbox: Sandbox
    scratch: Scratch
    sources: Sources
    settings: DownloadSettings
    clock: ManualClock

    async def execute(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            cursor = await transaction.connection.execute(statement.encode(), values)
            return await cursor.fetchall() if cursor.description else []

    async def row(self, video: FoundRef) -> dict[str, Any]:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            cursor = await transaction.connection.execute(
                "SELECT * FROM watch.found WHERE post_id = %s AND video_index = %s", (video.post_id, video.video_index)
            )
            values = await cursor.fetchone()
            names = [column.name for column in cursor.description or ()]
        assert values, "there is no such row"
        return dict(zip(names, values, strict=True))

    async def find(self, *videos: FoundRef, goal: GoalRef = GOAL) -> None:
        for video in videos:
            await self.execute(
                "INSERT INTO watch.found (tenant_id, event_id, generation, post_id, video_index, url, found_at,"
                " attempt, state, tries, last_try) VALUES (platform.current_tenant(), %(event)s, %(generation)s,"
                " %(post)s, %(index)s, 'https://x.com/dockersfan/status/' || %(post)s, %(now)s, 1, 'selected', 1,"
                " %(run)s)",
                event=goal.event_id,
                generation=goal.generation,
                post=video.post_id,
                index=video.video_index,
                run=RUN,
                now=NOW,
            )

    async def score(self, goal: GoalRef = GOAL) -> None:
        await self.execute(
            "INSERT INTO watch.fixtures (tenant_id, id, stage, status, kick_off, home_id, home_name, away_id,"
            " away_name, raw, first_seen) VALUES (platform.current_tenant(), %(id)s, 'active', '1H', %(now)s, 40,"
            " 'Northport', 41, 'Göteryd', '{}', %(now)s) ON CONFLICT DO NOTHING",
            id=goal.fixture_id,
            now=NOW,
        )
        await self.execute(
            "INSERT INTO watch.goals (tenant_id, event_id, generation, fixture_id, team_id, team_name, type, detail,"
            " minute, home_score, away_score, raw, sequence, first_seen) VALUES (platform.current_tenant(), %(event)s,"
            " %(generation)s, %(fixture)s, 40, 'Northport', 'Goal', 'Normal Goal', 23, 1, 0, '{}', 1, %(now)s)",
            event=goal.event_id,
            generation=goal.generation,
            fixture=goal.fixture_id,
            now=NOW,
        )

    async def annul(self) -> None:
        await self.execute("UPDATE watch.goals SET removed_at = %(now)s, removal = 'annulled'", now=NOW)

    async def reattribute(self, new: GoalRef) -> None:
        await self.score(new)
        await self.execute(
            "UPDATE watch.goals SET removed_at = %(now)s, removal = 'reattributed', moved_to = %(new)s,"
            " moved_generation = 1 WHERE event_id = %(old)s",
            now=NOW,
            new=new.event_id,
            old=GOAL.event_id,
        )
        await self.execute("UPDATE watch.found SET event_id = %(new)s", new=new.event_id)

    async def keys(self) -> list[str]:
        return [each.key for each in (await self.context.objects.list("watch/incoming/")).objects]

    def later(self, by: timedelta) -> None:
        self.clock.advance(by)


@pytest.fixture
async def pitch(
    database: Database,
    objects: ObjectStore,
    sandbox: Sandbox,
    scratch: Scratch,
    sources: Sources,
    settings: DownloadSettings,
) -> Pitch:
    clock = ManualClock(NOW)
    context = WatchContext(database, objects, Owner(TenantId(uuid4()), UserId(uuid4())), clock)
    pitch = Pitch(context, sandbox, scratch, sources, settings, clock)
    await pitch.score()
    return pitch
