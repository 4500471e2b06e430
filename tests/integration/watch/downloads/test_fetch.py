"""Found videos of a world over HTTP, each delivered in its own way, into a real object store."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import timedelta

import pytest

from touchline.kernel import NotFound
from touchline.watch.downloads.rules import Busy, CutOff, DownloadFailure, TooSmall
from touchline.watch.downloads.service import Downloads
from touchline.watch.downloads.workflow import Arrived, VideoOutcome, WantedVideo
from touchline.watch.model import FoundRef, GoalRef

from .conftest import GOAL, NOW, RUN, Pitch, found


async def download(pitch: Pitch, video: FoundRef, run_id: str = RUN, *, is_last_try: bool = True) -> Arrived:
    downloads = Downloads(pitch.context, pitch.sandbox, pitch.scratch, pitch.sources, pitch.settings)
    return await downloads.download(WantedVideo(GOAL, video, run_id), is_last_try=is_last_try)


def md5_of(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


async def test_a_video_lies_in_the_store_with_what_is_known_of_it(pitch: Pitch) -> None:
    video = found("whole")
    await pitch.find(video)
    arrived = await download(pitch, video)
    key = f"watch/incoming/{GOAL.event_id}/{video.post_id}-1.mp4"
    content = await pitch.context.objects.get(key)
    assert arrived == Arrived(VideoOutcome.DONE, md5_of(content))
    row = await pitch.row(video)
    expected = {
        "state": "downloaded", "incoming_key": key, "md5": arrived.md5, "size_bytes": len(content), "width": 320,
        "height": 180, "why": None, "verified": None, "last_try": RUN,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected
    assert row["duration_ms"] == pytest.approx(6000, abs=50)
    assert row["bit_rate"] == pytest.approx(len(content) * 8 / 6, rel=0.02)


async def test_slow_ones_arrive_too(pitch: Pitch) -> None:
    await pitch.find(found("slow"))
    assert (await download(pitch, found("slow"))).outcome is VideoOutcome.DONE


@pytest.mark.parametrize(
    ("name", "state", "code", "minutes"),
    [
        ("cut_off", "failed", "cut_off", 1),
        ("broken", "failed", "malformed", 1),
        ("empty", "failed", "too_small", 1),
        ("gone", "failed", "gone", 2),
        ("forbidden", "failed", "forbidden", 5),
        ("blocked", "rejected", "blocked", None),
        ("busy", "failed", "busy", 2),
        ("removed", "failed", "gone", 2),
        ("later", "failed", "gone", 2),
        ("words", "rejected", "no_video", None),
        ("short", "rejected", "too_short", None),
    ],
)
async def test_what_does_not_arrive_says_why_and_when_to_try_again(
    pitch: Pitch, name: str, state: str, code: str, minutes: int | None
) -> None:
    await pitch.find(found(name))
    arrived = await download(pitch, found(name))
    row = await pitch.row(found(name))
    assert (arrived.outcome, row["state"], row["why"].partition(":")[0]) == (VideoOutcome(state), state, code)
    assert row["retry_at"] == (NOW + timedelta(minutes=minutes) if minutes else None)
    assert (row["incoming_key"], await pitch.keys()) == (None, [])


@pytest.mark.parametrize(("name", "failure"), [("cut_off", CutOff), ("empty", TooSmall)])
async def test_what_may_pass_is_tried_again_at_once(pitch: Pitch, name: str, failure: type[DownloadFailure]) -> None:
    await pitch.find(found(name))
    with pytest.raises(failure):
        await download(pitch, found(name), is_last_try=False)
    assert (await pitch.row(found(name)))["state"] == "selected"


async def test_a_busy_server_says_when(pitch: Pitch) -> None:
    await pitch.find(found("busy"))
    with pytest.raises(Busy) as caught:
        await download(pitch, found("busy"), is_last_try=False)
    assert caught.value.retry_after == timedelta(seconds=2)


async def test_each_video_of_a_post(pitch: Pitch) -> None:
    both = [found("two videos"), found("two videos", 2)]
    await pitch.find(*both, found("two videos", 3))
    first, second = [await download(pitch, video) for video in both]
    assert first.md5 != second.md5
    third = await download(pitch, found("two videos", 3))
    assert (third.outcome, third.why.partition(":")[0]) == (VideoOutcome.REJECTED, "no_video")


async def test_done_twice_it_ends_the_same(pitch: Pitch) -> None:
    await pitch.find(found("whole"), found("gone"))
    assert await download(pitch, found("whole")) == await download(pitch, found("whole"))
    assert await download(pitch, found("gone")) == await download(pitch, found("gone"))


async def test_what_failed_in_enough_runs_is_given_up(pitch: Pitch) -> None:
    await pitch.find(found("gone"))
    await download(pitch, found("gone"), "first")
    await pitch.execute("UPDATE watch.found SET state = 'selected', tries = 2, last_try = 'second'")
    assert (await download(pitch, found("gone"), "second")).outcome is VideoOutcome.REJECTED


async def test_another_file_of_a_lost_try_is_in_nobodys_way(pitch: Pitch) -> None:
    await pitch.find(found("whole"))
    key = f"watch/incoming/{GOAL.folder}/{found('whole').post_id}-1.mp4"
    await pitch.context.objects.put_new(key, b"of a try that nobody waits for")
    arrived = await download(pitch, found("whole"))
    assert md5_of(await pitch.context.objects.get(key)) == arrived.md5


async def test_an_annulled_goal_gets_nothing(pitch: Pitch) -> None:
    await pitch.find(found("whole"))
    await pitch.annul()
    assert await download(pitch, found("whole")) == Arrived(VideoOutcome.OVER)
    assert await pitch.keys() == []


async def test_a_goal_with_another_scorer_now_gets_its_videos(pitch: Pitch) -> None:
    await pitch.find(found("whole"))
    new = GoalRef(GOAL.fixture_id, "9000001_40_1002_Goal_1")
    await pitch.reattribute(new)
    assert (await download(pitch, found("whole"))).outcome is VideoOutcome.DONE
    assert await pitch.keys() == [f"watch/incoming/{new.folder}/{found('whole').post_id}-1.mp4"]


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("longest", timedelta(seconds=5), "too_long: 6.0 s"),
        ("least_aspect", 2.0, "wrong_shape: 320 x 180"),
        ("least_short_side", 240, "too_few_pixels: 320 x 180"),
        ("largest_video", 5_000, "too_large: the response is too large: "),
    ],
)
async def test_which_videos_are_kept_is_a_matter_of_settings(pitch: Pitch, name: str, value: object, why: str) -> None:
    await pitch.find(found("whole"))
    arrived = await download(replace(pitch, settings=pitch.settings.model_copy(update={name: value})), found("whole"))
    assert (arrived.outcome, arrived.why[: len(why)]) == (VideoOutcome.REJECTED, why)


async def test_what_is_too_long_is_not_fetched_at_all(pitch: Pitch) -> None:
    """Its first byte would be one too many."""
    await pitch.find(found("whole"))
    strict = pitch.settings.model_copy(update={"longest": timedelta(seconds=4), "largest_video": 1})
    arrived = await download(replace(pitch, settings=strict), found("whole"))
    assert (arrived.outcome, arrived.why) == (
        VideoOutcome.REJECTED,
        "too_long: the video is too long: 6.0 s; 4 s are allowed",
    )


async def test_nothing_stays_on_the_disk(pitch: Pitch) -> None:
    await pitch.find(found("whole"), found("broken"))
    await download(pitch, found("whole"))
    await download(pitch, found("broken"))
    async with pitch.scratch.folder() as folder:
        assert [each for each in folder.parent.iterdir() if each.is_dir()] == [folder]
    with pytest.raises(NotFound):
        await pitch.context.objects.head(f"watch/incoming/{GOAL.folder}/{found('broken').post_id}-1.mp4")
