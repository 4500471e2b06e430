"""The one writer of a goal's archive."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.workflow import Info

from touchline.watch.archive.service import drop_all, move_all, notify_archive, resume, upload_id
from touchline.watch.archive.workflow import UploadInput, UploadWorkflow
from touchline.watch.model import TASK_QUEUE

from .conftest import Around, Place

REMOVED = """
UPDATE watch.goals SET removed_at = %(now)s, removal = %(why)s, moved_to = %(to)s, moved_generation = %(generation)s
 WHERE event_id = %(goal)s
"""


async def test_a_batch_is_archived_ranked_and_told(place: Place) -> None:
    goal = await place.goal()
    refs = [
        await place.found(goal, "abc", size=100),
        await place.found(goal, "abc", size=300),  # the same, larger
        await place.found(goal, "xyz", size=200),  # another one
    ]
    await place.queue(goal, *refs)
    assert await place.archive(goal, recorded_as="upload-archived") == 1
    best, other = await place.videos(goal)
    assert [(each.size_bytes, each.popularity, each.rank) for each in (best, other)] == [(300, 2, 1), (200, 1, 2)]
    assert sorted(await place.keys("watch/videos/")) == sorted([best.object_key, other.object_key])
    assert await place.keys("watch/incoming/") == []
    kept = await place.reported("goal.video_kept")
    assert {each["artifact_hash"] for each in kept} == {best.artifact_hash, other.artifact_hash}
    assert kept[0]["retention_until"].startswith("2026-03-29T00:00:00")
    assert kept[0]["title"] == "Northport 1-0 Göteryd, M. Sørensen 23'"
    assert [each["what"] for each in await place.reported("goal.changed")] == ["archived"]
    found = await place.execute("SELECT artifact_hash, incoming_key FROM watch.found ORDER BY post_id")
    assert found == [(best.artifact_hash, None), (best.artifact_hash, None), (other.artifact_hash, None)]
    [(ended,)] = await place.execute("SELECT archived_at IS NOT NULL FROM watch.upload_batches")
    [(first,)] = await place.execute("SELECT first_archived_at FROM watch.goals")
    assert (ended, first) == (True, place.clock.now())


async def test_a_better_copy_takes_the_place_of_the_old_one(place: Place) -> None:
    goal = await place.goal()
    for size in (100, 50, 300):  # archived, worse, better
        await place.queue(goal, await place.found(goal, "abc", size=size))
    assert await place.archive(goal, recorded_as="upload-better-copy") == 3
    [best] = await place.videos(goal)
    [old] = await place.videos(goal, "replaced")
    assert (best.size_bytes, best.popularity, best.rank) == (300, 3, 1)
    assert (old.size_bytes, old.replaced_by) == (100, best.artifact_hash)
    [dropped] = await place.reported("goal.video_dropped")
    assert (dropped["artifact_hash"], dropped["why"], dropped["replaced_by"]) == (
        old.artifact_hash,
        "replaced",
        best.artifact_hash,
    )
    assert await place.execute("SELECT DISTINCT artifact_hash FROM watch.found") == [(best.artifact_hash,)]


async def test_what_runs_twice_is_done_once(place: Place) -> None:
    """Each activity: whoever did it died before anybody heard of it."""
    goal = await place.goal()
    await place.queue(goal, await place.found(goal, "abc"), await place.found(goal, "xyz", size=70))
    await place.queue(goal, await place.found(goal, "abc", size=50), await place.found(goal, "xyz", size=900))
    assert await place.archive(goal, Around(twice=True)) == 2
    kept = await place.videos(goal)
    assert [(each.size_bytes, each.popularity, each.rank) for each in kept] == [(900, 2, 1), (100, 2, 2)]
    assert len(await place.reported("goal.video_kept")) == 3
    assert len(await place.reported("goal.video_dropped")) == 1
    assert sorted(await place.keys("watch/")) == sorted(each.object_key for each in await place.videos(goal, None))


@pytest.mark.parametrize("step", ["deduplicate_videos", "save_video_objects"])
async def test_a_step_that_cannot_be_done_lets_the_batch_wait(place: Place, step: str) -> None:
    goal, seen = await place.goal(), list[str]()

    async def fail(name: str) -> None:
        seen.append(name)
        if name == step and seen.count(name) == 1:
            raise ApplicationError("not now", non_retryable=True)
        if name == "recalculate_video_ranks":
            assert len(await place.videos(goal)) == 1

    await place.queue(goal, await place.found(goal, "abc"), await place.found(goal, "abc"))
    assert await place.archive(goal, Around(before=fail)) == 1
    assert seen.count(step) == 2
    assert [each.popularity for each in await place.videos(goal)] == [2]


async def test_a_signal_wakes_it_and_it_ends_when_nothing_is_left(place: Place) -> None:
    goal = await place.goal()
    await place.queue(goal, await place.found(goal, "abc"))
    async with place.working() as queue:
        given = UploadInput(goal, idle_s=60)
        handle = await place.client.start_workflow(UploadWorkflow.run, given, id=upload_id(goal), task_queue=queue)
        batch = await place.queue(goal, await place.found(goal, "xyz"))
        await handle.signal(UploadWorkflow.add_videos, batch)
        while len(await handle.query(UploadWorkflow.archived)) < 2:
            pass
        await handle.terminate()
    assert len(await place.videos(goal)) == 2


async def test_a_long_run_goes_on_as_a_new_one(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the server had said that the history is long enough."""
    monkeypatch.setattr(Info, "is_continue_as_new_suggested", lambda info: info.continued_run_id is None)
    goal = await place.goal()
    await place.queue(goal, await place.found(goal, "abc"))
    assert await place.archive(goal) == 1
    assert len(await place.videos(goal)) == 1


async def test_of_a_goal_that_is_annulled_meanwhile_nothing_is_left(place: Place) -> None:
    goal = await place.goal()

    async def annul(name: str) -> None:
        if name == "save_video_objects":
            async with place.context.database.transaction(place.context.owner.tenant_id) as transaction:
                await drop_all(transaction, goal, place.clock.now())
            await place.execute(
                REMOVED, goal=goal.event_id, now=place.clock.now(), why="annulled", to=None, generation=None
            )

    await place.queue(goal, await place.found(goal, "abc"))
    await place.queue(goal, await place.found(goal, "abc"))
    await place.archive(goal, Around(before=annul))
    assert await place.videos(goal, None) == []
    assert await place.reported("goal.video_kept") == []
    assert await place.keys("watch/") == []


async def test_a_goal_that_gets_another_scorer_meanwhile_keeps_what_was_on_its_way(place: Place) -> None:
    goal, other = await place.goal(), await place.goal(player=1002)

    async def move(name: str) -> None:
        if name == "save_video_objects" and not moved:
            moved.append(name)
            async with place.context.database.transaction(place.context.owner.tenant_id) as transaction:
                await move_all(transaction, goal, other, place.clock.now())
            await place.execute(
                REMOVED, goal=goal.event_id, now=place.clock.now(), why="reattributed", to=other.event_id, generation=1
            )

    moved: list[str] = []
    await place.queue(goal, await place.found(goal, "abc"))
    await place.archive(goal, Around(before=move))
    assert await place.videos(goal, None) == []
    [kept] = await place.videos(other)
    [reported] = await place.reported("goal.video_kept")
    assert (reported["artifact_hash"], reported["event_id"]) == (kept.artifact_hash, other.event_id)
    assert await place.keys("watch/") == [kept.object_key]


async def test_what_cannot_be_archived_holds_up_nobody(place: Place) -> None:
    goal = await place.goal()
    refs = [
        await place.found(goal, "abc"),
        await place.found(goal, "def"),
        await place.found(goal, "ghi", fingerprint="dense:0.25:nonsense"),
        await place.found(goal, "jkl", verified=None),
    ]
    await place.context.objects.delete(f"watch/incoming/{goal.folder}/{refs[1].post_id}-1.mp4")
    await place.queue(goal, *refs)
    await place.archive(goal, recorded_as="upload-not-archived")
    assert len(await place.videos(goal)) == 1
    states = await place.execute("SELECT state, split_part(why, ':', 1) FROM watch.found ORDER BY post_id")
    assert states == [
        ("downloaded", None),
        ("failed", "incoming_lost"),
        ("failed", "not_comparable"),
        ("failed", "not_comparable"),
    ]


async def test_a_file_that_several_posts_share_stays_until_all_are_archived(place: Place) -> None:
    goal = await place.goal()
    first, second = await place.found(goal, "abc", data=b"one file"), await place.found(goal, "abc", data=b"one file")
    shared = f"watch/incoming/{goal.folder}/{first.post_id}-1.mp4"
    await place.context.objects.delete(f"watch/incoming/{goal.folder}/{second.post_id}-1.mp4")
    await place.execute("UPDATE watch.found SET incoming_key = %(key)s", key=shared)
    await place.queue(goal, first)
    await place.archive(goal)
    assert await place.keys("watch/incoming/") == [shared]
    await place.queue(goal, second)
    await place.archive(goal)
    assert [each.popularity for each in await place.videos(goal)] == [2]
    assert await place.keys("watch/incoming/") == []


async def test_the_last_batch_ends_the_goal(place: Place) -> None:
    goal = await place.goal()
    await place.execute("UPDATE watch.goals SET download_workflows = '{download1}'")
    await place.queue(goal, await place.found(goal, "abc"))
    await place.archive(goal)
    assert await place.execute("SELECT download_complete, outcome FROM watch.goals") == [(True, "found")]
    assert [(each["what"], each["outcome"]) for each in await place.reported("goal.changed")] == [
        ("archived", None),
        ("complete", "found"),
    ]


async def test_a_batch_that_nobody_was_told_of_is_resumed(place: Place) -> None:
    goal = await place.goal(player=uuid4().int % 10**9)
    batch = await place.queue(goal, await place.found(goal, "abc"))
    assert await place.activities.resume_uploads() == 0  # too fresh: somebody is at it
    place.clock.advance(timedelta(minutes=2))
    assert await place.activities.resume_uploads() == 1
    assert await place.activities.resume_uploads() == 0  # it runs, though no worker has taken it yet
    assert not await resume(place.client, goal, batch)
    async with place.working(queue=TASK_QUEUE):
        handle = place.client.get_workflow_handle(upload_id(goal))
        while batch not in await handle.query("archived"):
            pass
    await handle.terminate()
    assert len(await place.videos(goal)) == 1
    await notify_archive(place.client, goal, batch)  # a signal to one that has ended starts it again
    assert not await resume(place.client, goal, batch)
    await handle.terminate()
