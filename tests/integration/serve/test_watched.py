"""A goal's videos as artifacts: kept, processed like any upload, dropped for good, pinned; in any order."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import uuid4

import pytest

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event, Payload
from touchline.contracts.events.artifacts import HoldingReleased
from touchline.contracts.events.videos import VideoFailed, VideoPurged, VideoTranscoded
from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoKept, GoalVideoLabeled, GoalVideoPinned
from touchline.contracts.tenants import Owner
from touchline.kernel import ArtifactHash, NotFound, uuid7, video_id
from touchline.serve.artifacts.rules import Artifact
from touchline.serve.artifacts.store import ArtifactStore
from touchline.serve.registry.store import RegistryStore
from touchline.serve.retention.service import Expiry, Purger
from touchline.serve.watched.consumer import WatchedVideos

from .conftest import World

TITLE = "Northport 1-0 Göteryd, M. Sørensen 23'"
GOAL: dict[str, Any] = {"event_id": "5000_40_1001_Goal_1", "generation": 1, "fixture_id": 5000}


class OneOwner:
    """Of this tenant alone."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    async def named(self, tenant: str) -> Owner | None:
        return self._owner if tenant == str(self._owner.tenant_id) else None

    async def first(self) -> Owner | None:
        return self._owner


class Watch:
    """What watch has told of one video, and what became of it."""

    def __init__(self, world: World) -> None:
        self.world, self.hash = world, uuid4().hex
        ours, self.key = world.ours, f"watch/videos/5000_40_1001_Goal_1/{self.hash}.mp4"
        self.handler = WatchedVideos(
            world.environment.objects, OneOwner(Owner(ours.tenant_id, ours.user_id)), world.clock
        )
        self.home = f"videos/original/{video_id(ArtifactHash(self.hash))}/master.mp4"

    async def kept(self, title: str = TITLE, data: bytes = b"a video") -> None:
        if data:
            await self.world.environment.objects.put_once(self.key, data)
        until = self.world.clock.now() + timedelta(days=14)
        await self.take(
            GoalVideoKept(
                **GOAL, artifact_hash=self.hash, object_key=self.key, size_bytes=7, content_type="video/mp4",
                file_name="5000_40_1001_Goal_1-abc.mp4", title=title, retention_until=until,
            )
        )  # fmt: skip

    async def dropped(self, why: str = "annulled") -> None:
        await self.take(GoalVideoDropped(**GOAL, artifact_hash=self.hash, why=why))

    async def pinned(self, *, pinned: bool = True) -> None:
        await self.take(GoalVideoPinned(**GOAL, artifact_hash=self.hash, pinned=pinned))

    async def labeled(self, title: str, revision: int) -> None:
        shown: dict[str, Any] = {"home_team": "Arsenal", "away_team": "Liverpool", "player": "B. Saka"}
        await self.take(GoalVideoLabeled(**GOAL, artifact_hash=self.hash, title=title, **shown), revision)

    async def title(self) -> str | None:
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            words = await RegistryStore(transaction).words(ArtifactHash(self.hash))
        return words and words.title

    async def take(self, payload: Payload, revision: int = 1) -> None:
        now, tenant_id = self.world.clock.now(), self.world.ours.tenant_id
        data = payload.model_dump(mode="json")
        event = Event(uuid7(now), payload.event_type, 1, tenant_id, payload.key, revision, now, None, data, 1)
        async with self.world.environment.database.transaction(tenant_id) as transaction:
            await self.handler.handle(transaction, [event])

    async def artifact(self) -> Artifact | None:
        async with self.world.environment.database.transaction(self.world.ours) as transaction:
            return await ArtifactStore(transaction).find(ArtifactHash(self.hash))

    async def status(self) -> ArtifactStatus | None:
        artifact = await self.artifact()
        return artifact and artifact.status

    async def told(self, event_type: str) -> list[dict[str, Any]]:
        query = "SELECT data FROM platform.event_inbox WHERE key = %s AND type = %s ORDER BY sequence"
        async with self.world.environment.database.system("test: read events") as transaction:
            rows = await transaction.connection.execute(query, (f"artifact:{self.hash}", event_type))
            return [data for (data,) in await rows.fetchall()]

    async def transcoded(self) -> None:
        made = VideoTranscoded(
            artifact_hash=self.hash, job_id=uuid4(), attempt=1, manifest_key="m", poster_key="p", duration_ms=1,
            width=2, height=2,
        )  # fmt: skip
        await self.world.consume(made)

    async def purge(self) -> list[str]:
        """Two days of the pass, with the other planes' answers in between: which objects are left."""
        await self.world.pass_of(Purger)
        if await self.told("artifact.purge_due"):
            await self.world.consume(VideoPurged(artifact_hash=self.hash, objects=0))
            await self.world.consume(HoldingReleased(artifact_hash=self.hash, holder="watch"))
        await self.world.pass_of(Purger)
        return [key for key in await self.world.stored_keys() if key in (self.key, self.home)]


@pytest.fixture
def watch(world: World) -> Watch:
    return Watch(world)


async def test_a_kept_video_is_an_artifact_like_any_upload(watch: Watch) -> None:
    for _ in range(2):
        await watch.kept()
    artifact = await watch.artifact()
    assert artifact
    assert (artifact.status, artifact.original_key, artifact.synced) == (ArtifactStatus.PROCESSING, watch.home, True)
    assert artifact.user_id == watch.world.ours.user_id
    [stored] = await watch.told("artifact.original_stored")
    assert stored["original_key"] == watch.home
    assert await watch.world.environment.objects.get(watch.home) == b"a video"
    assert len(await watch.told("artifact.registered")) == 1
    until = artifact.retention_until
    await watch.transcoded()
    ready = await watch.artifact()
    assert ready
    assert (ready.status, ready.retention_until) == (ArtifactStatus.READY, until)
    async with watch.world.environment.database.transaction(watch.world.ours) as transaction:
        record = await RegistryStore(transaction).by_hash(ArtifactHash(watch.hash))
    assert record
    assert (record.upload.title, record.upload.expires_at) == (TITLE, until)


async def test_a_dropped_video_is_gone_for_good_at_the_next_pass(watch: Watch) -> None:
    await watch.kept()
    await watch.transcoded()
    for _ in range(2):
        await watch.dropped()
    assert await watch.status() is ArtifactStatus.DELETED
    assert sorted(await watch.purge()) == []
    await watch.kept()
    assert await watch.status() is ArtifactStatus.DELETED


async def test_one_that_was_dropped_before_it_was_kept_never_comes_to_life(watch: Watch) -> None:
    await watch.dropped()
    assert await watch.status() is None
    await watch.kept()
    assert await watch.status() is ArtifactStatus.DELETED
    assert await watch.told("artifact.original_stored") == []
    assert await watch.purge() == []


async def test_until_the_other_planes_have_answered_the_bytes_stay(watch: Watch) -> None:
    await watch.kept()
    await watch.dropped("replaced")
    await watch.world.consume(VideoPurged(artifact_hash=watch.hash, objects=0))
    await watch.world.pass_of(Purger)
    assert sorted(await watch.world.stored_keys()) == sorted([watch.key, watch.home])
    assert await watch.purge() == []


@pytest.mark.parametrize("failed", [False, True])
async def test_its_time_ends_with_its_match_and_a_pin_holds_it(watch: Watch, *, failed: bool) -> None:
    await watch.pinned()  # told before it was kept
    await watch.kept()
    if failed:
        reason = {"error_code": "broken", "error_message": "it is"}
        await watch.world.consume(
            VideoFailed(artifact_hash=watch.hash, job_id=uuid4(), attempt=1, job_type="transcode", **reason)
        )
    else:
        await watch.transcoded()
    watch.world.later(days=15)
    await watch.world.pass_of(Expiry)
    assert await watch.status() is not ArtifactStatus.DELETED
    await watch.pinned(pinned=False)
    await watch.world.pass_of(Expiry)
    assert await watch.status() is ArtifactStatus.DELETED
    assert len(await watch.purge()) == 2  # it may still be undeleted
    watch.world.later(days=31)
    assert await watch.purge() == []


async def test_an_upload_of_a_person_ends_in_its_time_too(world: World) -> None:
    upload = await world.processing()
    made = VideoTranscoded(
        artifact_hash=upload.artifact_hash, job_id=uuid4(), attempt=1, manifest_key="m", poster_key="p", duration_ms=1,
        width=2, height=2,
    )  # fmt: skip
    world.later(days=60)
    await world.pass_of(Expiry)
    assert await world.status(upload) is ArtifactStatus.PROCESSING  # its time counts from when it is finished
    await world.consume(made)
    world.later(days=29)
    await world.pass_of(Expiry)
    assert await world.status(upload) is ArtifactStatus.READY
    world.later(days=1)
    await world.pass_of(Expiry)
    assert await world.status(upload) is ArtifactStatus.DELETED


async def test_a_title_from_a_feed_is_made_plain(watch: Watch) -> None:
    await watch.kept(title="Goal\u202e by\n\x00 " + "Ø" * 300)
    title = await watch.title()
    assert title == "Goal by " + "Ø" * 247


@pytest.mark.parametrize("order", list(permutations(["kept", "old", "new"])))
async def test_a_goal_that_got_another_scorer_has_another_title(watch: Watch, order: tuple[str, ...]) -> None:
    acts = {
        "kept": watch.kept,
        "old": lambda: watch.labeled("Saka 23'", 1),
        "new": lambda: watch.labeled("Gómez 23'", 3),
    }
    for name in (*order, order[0]):
        await acts[name]()
    assert await watch.title() == "Gómez 23'"
    told = [data["title"] for kind in ("registered", "renamed") for data in await watch.told(f"artifact.{kind}")]
    assert told[-1] == "Gómez 23'"


async def test_a_tenant_without_a_user_is_said(watch: Watch) -> None:
    theirs = watch.world.theirs
    other = OneOwner(Owner(theirs.tenant_id, theirs.user_id))
    watch.handler = WatchedVideos(watch.world.environment.objects, other, watch.world.clock)
    with pytest.raises(NotFound, match="there is no registry entry"):
        await watch.kept()


async def test_a_file_that_is_not_there_is_said_and_nothing_is_registered(watch: Watch) -> None:
    with pytest.raises(NotFound, match="no such object"):
        await watch.kept(data=b"")
    assert await watch.status() is None
    assert await watch.told("artifact.registered") == []
