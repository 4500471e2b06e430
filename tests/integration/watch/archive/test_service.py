"""What others do with a goal's archive, each inside a transaction of theirs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import PurgeDue
from touchline.kernel import NotFound, uuid7
from touchline.platform.postgres.database import Transaction
from touchline.watch import operations
from touchline.watch.archive.consumer import PurgedVideos
from touchline.watch.archive.service import drop_all, move_all, pin
from touchline.watch.archive.workflow import UploadBatch, UploadOrder, WriteResult, Writing
from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.queries import surviving_video

from .conftest import Kept, Place

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


async def archived(place: Place, goal: GoalRef, *refs: FoundRef) -> None:
    """As the workflow does it, in one go."""
    batch = UploadBatch(goal, await place.queue(goal, *refs), list(refs))
    uploaded = [await place.activities.upload_single_video(UploadOrder(goal, batch.batch_id, ref)) for ref in refs]
    await place.activities.replace_s3_video(Writing(batch, uploaded))
    assert (await place.activities.recalculate_video_ranks(batch)).ended


@asynccontextmanager
async def changing(place: Place) -> AsyncGenerator[Transaction]:
    async with place.context.database.transaction(place.context.owner.tenant_id) as transaction:
        yield transaction


async def stands_for(place: Place, video: Kept) -> str | None:
    async with changing(place) as transaction:
        return await surviving_video(transaction, video.artifact_hash)


async def test_a_replaced_video_leads_to_the_one_that_stands_for_it(place: Place) -> None:
    goal = await place.goal()
    for size in (100, 200, 300):
        await archived(place, goal, await place.found(goal, "abc", size=size))
    [kept], replaced = await place.videos(goal), await place.videos(goal, "replaced")
    assert [each.size_bytes for each in replaced] in ([100, 200], [200, 100])
    for each in (kept, *replaced):
        assert await stands_for(place, each) == kept.artifact_hash
    async with changing(place) as transaction:
        assert await surviving_video(transaction, "0" * 32) is None


async def test_an_annulled_goal_has_nothing_left(place: Place) -> None:
    goal, other = await place.goal(), await place.goal(player=1002)
    for each in (goal, other):
        await archived(place, each, await place.found(each, "abc"), await place.found(each, "xyz"))
    await archived(place, goal, await place.found(goal, "abc", size=500))
    before = await place.videos(goal, None)
    await place.queue(goal, await place.found(goal, "uvw"))
    async with changing(place) as transaction:
        await pin(transaction, before[0].artifact_hash, pinned=True)
        await drop_all(transaction, goal, place.clock.now())
    assert {each.state for each in await place.videos(goal, None)} == {"dropped"}
    assert await place.execute("SELECT 1 FROM watch.videos WHERE pinned") == []
    assert await place.execute("SELECT 1 FROM watch.upload_batches WHERE archived_at IS NULL") == []
    dropped = await place.reported("goal.video_dropped")
    annulled = {each["artifact_hash"] for each in dropped if each["why"] == "annulled"}
    assert annulled == {each.artifact_hash for each in before}
    assert [await stands_for(place, each) for each in before] == [None] * 3
    assert len(await place.videos(other)) == 2


async def test_a_moved_goal_brings_its_videos_and_what_is_the_same_becomes_one(place: Place) -> None:
    old, new = await place.goal(), await place.goal(player=1002)
    await archived(place, old, await place.found(old, "abc", size=300), await place.found(old, "old"))
    await archived(place, new, await place.found(new, "abc", size=100), await place.found(new, "xyz"))
    waiting = await place.found(old, "uvw")
    await place.queue(old, waiting, batch_id="waits")
    async with changing(place) as transaction:
        await move_all(transaction, old, new, place.clock.now())
    assert await place.videos(old, None) == []
    kept = await place.videos(new)
    assert [each.rank for each in kept] == [1, 2, 3]
    assert (kept[0].size_bytes, kept[0].popularity) == (300, 2)
    [gone] = await place.videos(new, "replaced")
    assert (gone.size_bytes, gone.replaced_by) == (100, kept[0].artifact_hash)
    assert [each["artifact_hash"] for each in await place.reported("goal.video_dropped")] == [gone.artifact_hash]
    last = {each["artifact_hash"]: each["event_id"] for each in await place.reported("goal.video_labeled")}
    assert {each.artifact_hash: last[each.artifact_hash] for each in kept} == {
        each.artifact_hash: new.event_id for each in kept
    }
    assert await place.execute("SELECT event_id FROM watch.upload_batches WHERE batch_id = 'waits'") == [
        (new.event_id,)
    ]
    assert await place.execute("SELECT 1 FROM watch.found WHERE event_id = %(event_id)s", event_id=old.event_id) == []


@pytest.mark.parametrize("sizes", [(100, 300), (300, 100), (200, 200)])
async def test_of_two_writers_at_once_one_sees_what_the_other_did(place: Place, sizes: tuple[int, int]) -> None:
    """For a moment there are two after a move: both think that their copy is the first."""
    goal, writings = await place.goal(), list[Writing]()
    for size in sizes:
        ref = await place.found(goal, "abc", size=size)
        batch = UploadBatch(goal, await place.queue(goal, ref), [ref])
        [group] = (await place.activities.deduplicate_videos(batch)).groups
        assert group.best == ref
        writings.append(
            Writing(batch, [await place.activities.upload_single_video(UploadOrder(goal, batch.batch_id, ref))])
        )
    await asyncio.gather(*(place.activities.save_video_objects(writing) for writing in writings))
    [kept] = await place.videos(goal)
    assert (kept.size_bytes, kept.popularity, kept.rank) == (max(sizes), 2, 1)
    assert len(await place.reported("goal.video_kept")) - len(await place.reported("goal.video_dropped")) == 1


async def test_an_object_that_is_gone_again_replaces_nobody(place: Place) -> None:
    goal = await place.goal()
    await archived(place, goal, await place.found(goal, "abc", size=100))
    ref = await place.found(goal, "abc", size=300)
    batch = UploadBatch(goal, await place.queue(goal, ref), [ref])
    uploaded = await place.activities.upload_single_video(UploadOrder(goal, batch.batch_id, ref))
    await place.context.objects.delete(uploaded.object_key)
    assert await place.activities.replace_s3_video(Writing(batch, [uploaded])) == WriteResult()
    assert [(each.size_bytes, each.popularity) for each in await place.videos(goal)] == [(100, 1)]
    assert not (await place.activities.recalculate_video_ranks(batch)).ended  # it is tried again
    assert await place.reported("goal.video_dropped") == []


async def test_bytes_that_were_dropped_do_not_come_back(place: Place) -> None:
    goal = await place.goal()
    await archived(place, goal, await place.found(goal, "abc", data=b"these"))
    async with changing(place) as transaction:
        await drop_all(transaction, goal, place.clock.now())
    await archived(place, goal, await place.found(goal, "abc", data=b"these"))
    assert await place.videos(goal) == []
    assert await place.execute("SELECT state, split_part(why, ':', 1) FROM watch.found ORDER BY post_id") == [
        ("downloaded", None),
        ("rejected", "dropped"),
    ]
    assert len(await place.reported("goal.video_kept")) == 1


@pytest.mark.parametrize("archived_first", [True, False])
async def test_a_post_that_was_found_for_both_goals_is_one_afterwards(place: Place, *, archived_first: bool) -> None:
    old, new = await place.goal(), await place.goal(player=1002)
    ref = await place.found(old, "abc")
    await place.execute(
        "INSERT INTO watch.found (tenant_id, event_id, generation, post_id, video_index, url, found_at, attempt) "
        "SELECT tenant_id, %(event_id)s, 1, post_id, 1, url, found_at, 1 FROM watch.found",
        event_id=new.event_id,
    )
    if archived_first:
        await archived(place, old, ref)
    async with changing(place) as transaction:
        await move_all(transaction, old, new, place.clock.now())
    [(event_id, state, is_archived)] = await place.execute(
        "SELECT event_id, state, artifact_hash IS NOT NULL FROM watch.found"
    )
    assert (event_id, state, is_archived) == (new.event_id, "downloaded", archived_first)


async def test_a_pin_goes_over_to_the_better_copy_and_outlives_the_match(place: Place) -> None:
    goal = await place.goal()
    await archived(place, goal, await place.found(goal, "abc", size=200), await place.found(goal, "xyz"))
    wanted, other = await place.videos(goal)
    async with changing(place) as transaction:
        assert await pin(transaction, wanted.artifact_hash, pinned=True)
        assert not await pin(transaction, wanted.artifact_hash, pinned=True)
        assert not await pin(transaction, other.artifact_hash, pinned=False)
    await archived(place, goal, await place.found(goal, "abc", size=900))
    [better] = [each for each in await place.videos(goal) if each.size_bytes == 900]
    await place.execute("DELETE FROM watch.videos WHERE NOT pinned")
    await place.execute("DELETE FROM watch.fixtures")
    assert await place.execute("SELECT artifact_hash FROM watch.videos") == [(better.artifact_hash,)]
    async with changing(place) as transaction:
        assert await pin(transaction, better.artifact_hash, pinned=False)
    assert await place.execute("SELECT artifact_hash FROM watch.videos") == []
    reported = [(each["artifact_hash"], each["pinned"]) for each in await place.reported("goal.video_pinned")]
    assert reported == [(wanted.artifact_hash, True), (better.artifact_hash, True), (better.artifact_hash, False)]


async def test_a_person_pins_by_any_copy_that_a_goal_has_had(place: Place) -> None:
    goal = await place.goal()
    await archived(place, goal, await place.found(goal, "abc", size=200))
    [old] = await place.videos(goal)
    await archived(place, goal, await place.found(goal, "abc", size=900))
    database, tenant = place.context.database, place.context.owner.tenant_id
    assert await operations.pin(database, tenant, old.artifact_hash, "cli", pinned=True)
    assert not await operations.pin(database, tenant, old.artifact_hash, "cli", pinned=True)
    assert await place.execute("SELECT size_bytes FROM watch.videos WHERE pinned") == [(900,)]
    assert await operations.pin(database, tenant, old.artifact_hash, "cli", pinned=False)
    with pytest.raises(NotFound):
        await operations.pin(database, tenant, "0" * 32, "cli", pinned=True)


async def test_a_kept_video_whose_artifact_is_purged_is_let_go_and_whoever_asks_is_answered(place: Place) -> None:
    goal = await place.goal()
    for shows, size in (("abc", 900), ("xyz", 200)):
        await archived(place, goal, await place.found(goal, shows, size=size))
    purged, other = await place.videos(goal)
    for artifact_hash in (purged.artifact_hash, purged.artifact_hash, "0" * 32):
        payload = PurgeDue(artifact_hash=artifact_hash)
        event = Event(
            uuid7(NOW), payload.event_type, 1, place.context.owner.tenant_id, payload.key, 1, NOW, None,
            payload.model_dump(mode="json"), 1,
        )  # fmt: skip
        async with changing(place) as transaction:
            await PurgedVideos().handle(transaction, [event])
    assert [(video.artifact_hash, video.rank) for video in await place.videos(goal)] == [(other.artifact_hash, 1)]
    reported = [(said["artifact_hash"], said["holder"]) for said in await place.reported("artifact.holding_released")]
    assert reported == [(purged.artifact_hash, "watch")] * 2 + [("0" * 32, "watch")]
