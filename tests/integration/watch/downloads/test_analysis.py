"""Downloaded videos are judged and get their fingerprint, once for all posts that have the same file."""

from __future__ import annotations

import pytest

from touchline.kernel import Unavailable
from touchline.media.fingerprint.formats import from_text
from touchline.media.fingerprint.model import Style
from touchline.watch.downloads import service
from touchline.watch.downloads.analysis import VideoAnalysis
from touchline.watch.downloads.workflow import Hashed, Judged, SameFile, VideoOutcome
from touchline.watch.model import FeedMinute, FoundRef, GoalRef

from .conftest import GOAL, NOW, RUN, Opinion, Pitch, Said, found
from .test_fetch import download

FIRST, SECOND, OTHER = found("two videos"), found("same as the first"), found("two videos", 2)


def looking(pitch: Pitch, opinion: Opinion) -> VideoAnalysis:
    return VideoAnalysis(pitch.context, pitch.sandbox, pitch.scratch, opinion, pitch.settings)


async def downloaded(pitch: Pitch, *videos: FoundRef) -> None:
    await pitch.find(*videos)
    for video in videos:
        assert (await download(pitch, video)).outcome is VideoOutcome.DONE


async def announced(pitch: Pitch) -> list[tuple[str, str | None]]:
    """What the log is told of looks at videos."""
    async with pitch.context.database.system("test: read what was announced") as transaction:
        rows = await transaction.connection.execute(
            "SELECT data ->> 'post_id', data ->> 'rejected' FROM platform.event_inbox WHERE type = 'goal.video_judged'"
        )
        return await rows.fetchall()


async def test_one_look_counts_for_every_post_with_the_same_file(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST, SECOND)
    opinion, beats = Opinion(Said(verified=False, clock=None)), list[str]()
    same = SameFile(GOAL, [FIRST, SECOND])
    assert await looking(pitch, opinion).judge(same, beats.append) == Judged(VideoOutcome.DONE)
    rows = [await pitch.row(video) for video in same.videos]
    assert rows[0]["incoming_key"] == rows[1]["incoming_key"] == (await pitch.keys())[0]
    assert len(await pitch.keys()) == 1
    assert [(row["state"], row["verified"], row["validated_at"]) for row in rows] == [("downloaded", False, NOW)] * 2
    assert opinion.asked == [(rows[0]["duration_ms"], 22)]
    assert beats == ["taking pictures: 50%", "looking"]


async def test_a_look_knows_the_minutes_of_the_other_goals(pitch: Pitch) -> None:
    """Of those that live: what a clock says may be true of several."""
    await downloaded(pitch, FIRST)
    for number, (minute, removed) in enumerate([(48, None), (90, None), (70, NOW)], 2):
        await pitch.score(GoalRef(GOAL.fixture_id, f"other_{number}"))
        await pitch.execute(
            "UPDATE watch.goals SET minute = %(minute)s, extra = CASE WHEN %(minute)s = 90 THEN 3 END,"
            " removed_at = %(removed)s::timestamptz, removal = CASE WHEN %(removed)s::timestamptz IS NULL THEN NULL"
            " ELSE 'annulled' END WHERE event_id = %(event)s",
            minute=minute,
            removed=removed,
            event=f"other_{number}",
        )
    opinion = Opinion()
    assert (await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST]), print)).outcome is VideoOutcome.DONE
    assert [minute for _, minute in opinion.asked] == [22]
    assert opinion.others == (FeedMinute(48), FeedMinute(90, 3))


async def test_done_twice_nobody_is_asked_again(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST, SECOND)
    opinion, same = Opinion(), SameFile(GOAL, [FIRST, SECOND])
    judged = [await looking(pitch, opinion).judge(same, print) for _ in range(2)]
    assert (judged[0], len(opinion.asked)) == (judged[1], 1)
    assert await announced(pitch) == [(FIRST.post_id, None)]


async def test_a_rejected_one_says_why_and_loses_its_file(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST, SECOND, OTHER)
    opinion = Opinion(Said(rejected="another_minute: 44:10", verified=False))
    judged = await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST, SECOND]), print)
    assert judged == Judged(VideoOutcome.REJECTED, "another_minute: 44:10")
    assert [(await pitch.row(video))["state"] for video in (FIRST, SECOND)] == ["rejected", "rejected"]
    assert await service.clean_up(pitch.context, GOAL) == 1
    assert await pitch.keys() == [(await pitch.row(OTHER))["incoming_key"]]
    assert (await pitch.row(FIRST))["incoming_key"] is None
    assert await announced(pitch) == [(FIRST.post_id, "another_minute: 44:10")]


async def test_an_engine_that_is_away_is_no_verdict(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    with pytest.raises(Unavailable):
        await looking(pitch, Opinion(away=1)).judge(SameFile(GOAL, [FIRST]), print)
    row = await pitch.row(FIRST)
    assert (row["state"], row["verified"]) == ("downloaded", None)


async def test_the_dense_fingerprint_comes_first_and_the_careful_one_behind_it(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST, SECOND)
    beats = list[str]()
    same = SameFile(GOAL, [FIRST, SECOND])
    assert await looking(pitch, Opinion()).fingerprint(same, beats.append) == Hashed(VideoOutcome.DONE, 22)
    [text] = {(await pitch.row(video))["fingerprint"] for video in same.videos}
    assert text.startswith("dense:0.25:0.25=")
    dense, careful = (from_text(line) for line in text.splitlines())
    assert (len(dense), dense.style, careful.style) == (22, Style.DENSE, Style.CAREFUL)
    assert len(beats) >= 22 // 5


async def test_the_first_of_a_run_gets_its_fingerprint_with_its_verdict(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    first = SameFile(GOAL, [FIRST], is_first=True)
    assert await looking(pitch, Opinion()).judge(first, print) == Judged(VideoOutcome.DONE, is_hashed=True)
    together = (await pitch.row(FIRST))["fingerprint"]
    assert await looking(pitch, Opinion()).judge(first, print) == Judged(VideoOutcome.DONE, is_hashed=True), "lost"
    assert await looking(pitch, Opinion()).fingerprint(first, print) == Hashed(VideoOutcome.DONE, 22)
    assert together == (await pitch.row(FIRST))["fingerprint"]


async def test_a_later_file_is_looked_at_also_when_its_sum_is_known(pitch: Pitch) -> None:
    """Anybody can make two videos with one MD5: what comes by itself is not believed for another one's sake."""
    await downloaded(pitch, FIRST, SECOND)
    opinion = Opinion()
    await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST], is_first=True), print)
    opinion.says = Said(rejected="not_football")
    judged = await looking(pitch, opinion).judge(SameFile(GOAL, [SECOND]), print)
    assert (judged.outcome, len(opinion.asked)) == (VideoOutcome.REJECTED, 2)
    first, second = [await pitch.row(video) for video in (FIRST, SECOND)]
    assert (first["md5"], first["state"]) == (second["md5"], "downloaded")


async def test_the_bytes_of_a_rejected_one_are_looked_at_again(pitch: Pitch) -> None:
    """The feed may have corrected the goal's minute meanwhile."""
    await downloaded(pitch, FIRST, SECOND)
    opinion = Opinion(Said(rejected="another_minute: 22:41, not 24"))
    await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST], is_first=True), print)
    opinion.says = Said()
    judged = await looking(pitch, opinion).judge(SameFile(GOAL, [SECOND]), print)
    assert (judged, len(opinion.asked)) == (Judged(VideoOutcome.DONE), 2)


async def test_a_first_one_that_is_rejected_gets_none(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    opinion = Opinion(Said(rejected="not_football"))
    judged = await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST], is_first=True), print)
    assert (judged.outcome, judged.is_hashed) == (VideoOutcome.REJECTED, False)
    assert (await pitch.row(FIRST))["fingerprint"] is None


@pytest.mark.parametrize("content", [b"\0\0\0\x18ftypmp42" + bytes(50_000), b"<!doctype html><title>Not here</title>"])
async def test_a_file_that_broke_in_the_store_is_rejected(content: bytes, pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    [key] = await pitch.keys()
    await pitch.context.objects.delete(key)
    await pitch.context.objects.put_new(key, content)
    opinion = Opinion()
    hashed = await looking(pitch, opinion).fingerprint(SameFile(GOAL, [FIRST]), print)
    assert hashed.outcome is VideoOutcome.REJECTED
    assert (await pitch.row(FIRST))["state"] == "rejected"
    await pitch.execute("UPDATE watch.found SET state = 'downloaded'")
    judged = await looking(pitch, opinion).judge(SameFile(GOAL, [FIRST]), print)
    assert (judged.outcome, judged.why[:11], opinion.asked) == (VideoOutcome.REJECTED, "malformed: ", [])


async def test_a_file_that_is_lost_may_come_again(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    [key] = await pitch.keys()
    await pitch.context.objects.delete(key)
    assert (await looking(pitch, Opinion()).judge(SameFile(GOAL, [FIRST]), print)).outcome is VideoOutcome.FAILED
    row = await pitch.row(FIRST)
    assert (row["state"], row["why"], row["retry_at"]) == ("failed", "file_lost", NOW)


async def test_nobody_looks_for_an_annulled_goal(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    await pitch.annul()
    opinion, same = Opinion(), SameFile(GOAL, [FIRST])
    assert (await looking(pitch, opinion).judge(same, print)).outcome is VideoOutcome.OVER
    assert (await looking(pitch, opinion).fingerprint(same, print)).outcome is VideoOutcome.OVER
    assert opinion.asked == []


async def test_what_was_given_up_is_not_looked_at_again(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    await pitch.execute("UPDATE watch.found SET state = 'failed', verified = true")
    opinion, same = Opinion(), SameFile(GOAL, [FIRST])
    assert (await looking(pitch, opinion).judge(same, print)).outcome is VideoOutcome.FAILED
    assert (await looking(pitch, opinion).fingerprint(same, print)).outcome is VideoOutcome.FAILED
    assert opinion.asked == []


async def test_the_next_goal_with_the_id_keeps_its_files(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST)
    await pitch.context.objects.put_new(f"watch/incoming/{GOAL.event_id}/g2/of-the-next.mp4", b"stays")
    await service.remove_all(pitch.context, GOAL)
    assert await pitch.keys() == [f"watch/incoming/{GOAL.event_id}/g2/of-the-next.mp4"]


async def test_the_sweep_leaves_nothing_of_a_match(pitch: Pitch) -> None:
    await downloaded(pitch, FIRST, OTHER)
    await pitch.context.objects.put_new("watch/incoming/9000002_40_1001_Goal_1/of-another-match.mp4", b"stays")
    await service.sweep_incoming(pitch.context, GOAL.fixture_id)
    assert await pitch.keys() == ["watch/incoming/9000002_40_1001_Goal_1/of-another-match.mp4"]
    assert (await pitch.row(FIRST))["incoming_key"] is None
    assert (await pitch.row(FIRST))["last_try"] == RUN
