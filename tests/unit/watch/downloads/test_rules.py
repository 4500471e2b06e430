from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.watch.downloads import rules
from touchline.watch.downloads.fetch import Pace
from touchline.watch.downloads.rules import FAILURES, DownloadFailure, Ending, FileFacts, Filters
from touchline.watch.downloads.workflow import DownloadInput
from touchline.watch.model import FeedMinute, FoundRef, GoalRef
from touchline.watch.temporal import translated

NOW = datetime(2026, 3, 14, 15, 0, tzinfo=UTC)
USUAL = Filters(shortest_ms=3000, longest_ms=60_000, least_short_side=0, least_aspect=0.0)
PICKY = Filters(shortest_ms=3000, longest_ms=60_000, least_short_side=240, least_aspect=1.0)
MINUTE = timedelta(minutes=1)


def test_every_failure_has_its_own_rule_and_its_own_word() -> None:
    assert set(rules.RULES) == set(FAILURES)
    assert len({each.reason for each in FAILURES}) == len(FAILURES)


@pytest.mark.parametrize(
    ("failure", "at_once", "first", "last_run"),
    [  # the last run is the one after which it is given up
        (rules.RefusedAddress, False, None, 1),
        (rules.Blocked, False, None, 1),
        (rules.NoVideo, False, None, 1),
        (rules.TooLarge, False, None, 1),
        (rules.TooLong, False, None, 1),
        (rules.AccessForbidden, False, 5 * MINUTE, 3),
        (rules.Gone, False, 2 * MINUTE, 2),
        (rules.Malformed, False, MINUTE, 2),
        (rules.TooSmall, True, MINUTE, 3),
        (rules.TooSlow, True, 2 * MINUTE, 3),
        (rules.CutOff, True, MINUTE, 5),
        (rules.Busy, True, 2 * MINUTE, 10),
        (rules.NoAnswer, True, MINUTE, 10),
    ],
)
def test_when_it_is_tried_again(
    failure: type[DownloadFailure], at_once: bool, first: timedelta | None, last_run: int
) -> None:
    error = failure("what", why="why")
    assert rules.rule_of(error).at_once is at_once
    why = f"{failure.reason}: what: why"
    if first:
        assert rules.after_failure(error, 1, NOW) == Ending("failed", why, NOW + first)
        assert rules.after_failure(error, last_run - 1, NOW).state == "failed"
    assert rules.after_failure(error, last_run, NOW) == Ending("rejected", why)


@pytest.mark.parametrize(
    ("declared_ms", "fetched"), [(None, True), (3_000, True), (60_900, True), (61_000, True), (61_001, False)]
)
def test_what_is_said_to_be_too_long_is_not_fetched(declared_ms: int | None, fetched: bool) -> None:
    """A little too long may be a matter of rounding: the file itself is measured."""
    with nullcontext() if fetched else pytest.raises(rules.TooLong, match="60 s are allowed"):
        rules.require_length(declared_ms, USUAL)


@pytest.mark.parametrize(("asked_s", "waits_s"), [(None, 120), (5, 120), (600, 600)])
def test_a_busy_server_is_left_alone_as_long_as_it_asks_for(asked_s: int | None, waits_s: int) -> None:
    busy = rules.Busy("busy", retry_after=timedelta(seconds=asked_s) if asked_s else None)
    assert rules.after_failure(busy, 1, NOW).retry_at == NOW + timedelta(seconds=waits_s)


@pytest.mark.parametrize(("asked_s", "now"), [(None, True), (10, True), (11, False), (99_999, False)])
def test_who_asks_for_much_patience_is_not_waited_for(asked_s: int | None, now: bool) -> None:
    busy = rules.Busy("busy", retry_after=timedelta(seconds=asked_s) if asked_s else None)
    assert rules.is_worth_a_moment(busy) is now


@pytest.mark.parametrize("failure", FAILURES)
def test_what_is_tried_again_at_once_is_so_for_temporal_too(failure: type[DownloadFailure]) -> None:
    error = failure("what")
    if rules.is_worth_a_moment(error):
        assert not translated(error).non_retryable


@given(st.text(max_size=2000))
def test_a_reason_stays_short_and_begins_with_its_code(details: str) -> None:
    why = rules.explained("gone", details)
    assert why.startswith("gone: ")
    assert len(why) <= rules.LONGEST_WHY


@pytest.mark.parametrize(
    ("duration_ms", "size", "filters", "code"),
    [
        (3000, (640, 360), USUAL, "too_short"),
        (3001, (640, 360), USUAL, None),
        (60_000, (640, 360), USUAL, None),
        (60_001, (640, 360), USUAL, "too_long"),
        (0, (640, 360), USUAL, "too_short"),
        (10_000, (1, 1), USUAL, None),
        (10_000, (426, 239), PICKY, "too_few_pixels"),
        (10_000, (240, 240), PICKY, None),
        (10_000, (240, 241), PICKY, "wrong_shape"),
        (10_000, (1080, 1920), PICKY, "wrong_shape"),
    ],
)
def test_which_videos_are_kept(duration_ms: int, size: tuple[int, int], filters: Filters, code: str | None) -> None:
    why = rules.rejection(FileFacts("md5", 1, duration_ms, *size, bit_rate=1), filters)
    assert (why.partition(":")[0] if why else None) == code


@pytest.mark.parametrize(("minute", "extra", "shown"), [(23, None, 22), (45, 3, 47), (1, None, 0), (90, 0, 89)])
def test_the_minute_on_screen(minute: int, extra: int | None, shown: int) -> None:
    assert FeedMinute(minute, extra).clock_minute == shown


@given(st.lists(st.tuples(st.integers(1, 30), st.sampled_from("abc")), unique_by=lambda each: each[0]))
def test_no_video_is_lost_among_those_with_the_same_bytes(arrived: list[tuple[int, str]]) -> None:
    videos = [(FoundRef(str(number)), md5) for number, md5 in arrived]
    groups = rules.grouped(videos)
    assert sorted((each for group in groups for each in group), key=str) == sorted((v for v, _ in videos), key=str)
    known = dict(videos)
    assert [len({known[each] for each in group}) for group in groups] == [1] * len(groups)
    assert len(groups) == len({md5 for _, md5 in videos})


@given(st.integers(0, 1000), st.integers(1, 3600))
def test_pauses_grow_to_a_quarter_of_an_hour(rounds: int, first_s: int) -> None:
    first = timedelta(seconds=first_s)
    assert first <= rules.pause(rounds, first) <= rules.pause(rounds + 1, first) <= max(first, rules.LONGEST_PAUSE)


def test_a_day_of_waiting_is_a_short_history() -> None:
    waited, rounds = timedelta(0), 0
    while waited < timedelta(hours=24):
        waited += rules.pause(rounds, timedelta(seconds=5))
        rounds += 1
    assert rounds < 120


@pytest.mark.parametrize(
    ("generation", "key"),
    [
        (1, "watch/incoming/5000_40_234_Goal_1/1850000000000000001-2.mp4"),
        (2, "watch/incoming/5000_40_234_Goal_1/g2/1850000000000000001-2.mp4"),
    ],
)
def test_where_a_download_lies(generation: int, key: str) -> None:
    goal = GoalRef(5000, "5000_40_234_Goal_1", generation)
    assert rules.incoming_key(goal.folder, FoundRef("1850000000000000001", 2)) == key


def test_the_names_of_runs_and_batches() -> None:
    goal = GoalRef(123456, "123456_40_306_Goal_1", 2)
    given_input = DownloadInput(goal, 1, "Liverpool-Salah", [FoundRef("1"), FoundRef("2"), FoundRef("3")])
    run_id = "download1-Liverpool-Salah-3vids-123456_40_306_Goal_1-g2"
    assert given_input.workflow_id == run_id
    assert [rules.batch_id(run_id, number) for number in (1, 2)] == [run_id, f"{run_id}/2"]


def test_a_file_goes_with_the_last_that_needs_it() -> None:
    assert rules.orphaned(["a", "b", "a", "c"], ["b"]) == ["a", "c"]


@pytest.mark.parametrize(
    ("arrivals", "slow"),
    [
        ([(0.5, 10)], False),  # the window is not over
        ([(1.0, 100)], False),
        ([(1.0, 99)], True),
        ([(0.2, 500), (1.0, 0)], False),
        ([(1.0, 5000), (2.5, 100)], True),  # what came before does not help
        ([(3.0, 250)], True),
    ],
)
def test_pace(arrivals: list[tuple[float, int]], slow: bool) -> None:
    pace = Pace(least_per_second=100, window_s=1.0, began=0.0)
    assert [pace.is_too_slow(size, at) for at, size in arrivals][-1] is slow
