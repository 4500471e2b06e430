"""Duplicates, the better copy and the order, first as a person would check them, then whatever comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import TenantId
from touchline.watch.archive import rules
from touchline.watch.archive.rules import Cluster, Copy, CopyState, GoalFactsForTitle, WaitingVideo
from touchline.watch.model import FoundRef, GoalRef

GOAL = GoalRef(5000, "5000_40_234_Goal_1")


def shares_a_letter(first: str, second: str) -> bool:
    """Fingerprints of tests: each letter is a scene."""
    return bool(set(first) & set(second))


def copy(name: str, shows: str = "a", *, size: int = 100, seconds: float = 10, **more: object) -> Copy:
    made = Copy(name, CopyState.FRESH, f"md5 of {name}", True, size, round(seconds * 1000), shows, popularity=1)
    return replace(made, **more)  # pyright: ignore[reportArgumentType]


def kept(name: str, shows: str = "a", popularity: int = 1, **more: object) -> Copy:
    values = {"standing": CopyState.KEPT, "kept_as": name, "popularity": popularity, **more}
    return copy(name, shows, **values)  # pyright: ignore[reportArgumentType]


def past(name: str, shows: str, kept_as: str, **more: object) -> Copy:
    values = {"standing": CopyState.PAST, "kept_as": kept_as, "popularity": 0, **more}
    return copy(name, shows, **values)  # pyright: ignore[reportArgumentType]


def clusters(*copies: Copy) -> list[Cluster]:
    return rules.clusters(copies, shares_a_letter)


def named(found: Copy | None) -> str | None:
    return found.name if found else None


def best(*copies: Copy) -> str | None:
    [cluster] = clusters(*copies)
    return named(cluster.best)


def test_what_shows_the_same_is_one_and_the_rest_is_not() -> None:
    found = clusters(copy("1", "a"), copy("2", "b"), copy("3", "a"))
    assert [[each.name for each in cluster.fresh] for cluster in found] == [["1", "3"], ["2"]]
    assert [cluster.popularity for cluster in found] == [2, 1]


def test_nothing_is_to_be_done_for_what_is_kept_and_nobody_found_again() -> None:
    assert clusters(kept("1", "a"), kept("2", "b"), past("3", "a", "1")) == []


def test_a_video_that_matches_two_kept_ones_joins_them() -> None:
    [cluster] = clusters(kept("1", "a", 3, size=200), kept("2", "b", 4), copy("3", "ab", size=50))
    assert (named(cluster.best), cluster.replaced, cluster.popularity) == ("1", ("2",), 8)


def test_it_is_compared_with_what_was_taken_in_before_and_is_gone() -> None:
    [cluster] = clusters(kept("1", "a", 2), past("2", "ab", "1"), copy("3", "b"))
    assert named(cluster.best) == "1"
    assert cluster.popularity == 3


def test_verified_ones_are_compared_with_verified_ones_only() -> None:
    found = clusters(kept("1", "a"), copy("2", "a", verified=False))
    assert [(cluster.replaced, cluster.popularity) for cluster in found] == [((), 1)]


def test_equal_bytes_are_the_same_whatever_was_read_on_them() -> None:
    [cluster] = clusters(kept("1", "a", md5="x", verified=False), copy("2", "", md5="x", verified=True))
    assert named(cluster.best) == "1"
    assert cluster.verified
    assert cluster.popularity == 2


@pytest.mark.parametrize(
    ("first", "second", "better"),
    [
        ((10, 100), (10, 200), "second"),  # the larger file
        ((10, 200), (11, 100), "first"),  # nearly as long
        ((8.5, 200), (10, 100), "first"),  # 85 % is still the same length
        ((8.49, 200), (10, 100), "second"),  # a longer clip shows more, whatever its bytes
        ((20, 1), (10, 500), "first"),
        ((10, 100), (10.5, 100), "second"),  # of the same size the longer one
    ],
)
def test_better_copy(first: tuple[float, int], second: tuple[float, int], better: str) -> None:
    (seconds, size), (other_seconds, other_size) = first, second
    one, other = copy("first", seconds=seconds, size=size), copy("second", seconds=other_seconds, size=other_size)
    assert best(one, other) == best(other, one) == better
    archived = kept("first", seconds=seconds, size=size)
    assert best(archived, other) == better


@pytest.mark.parametrize(("md5", "fresh_md5"), [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("verified", [True, False])
def test_of_equal_length_and_size_the_kept_copy_stays(md5: str, fresh_md5: str, verified: bool) -> None:
    [cluster] = clusters(kept("z", md5=md5, verified=verified), copy("a", md5=fresh_md5, verified=verified))
    assert (named(cluster.best), cluster.replaced, cluster.popularity) == ("z", (), 2)


@given(st.text("0123456789abcdef", min_size=4, max_size=4), st.integers(1, 9), st.integers(1, 9))
def test_equal_copies_never_replace_each_other(md5: str, size: int, seconds: int) -> None:
    archived = kept("archived", md5="8000", size=size, seconds=seconds)
    longest = past("longest", "a", "archived", size=size, seconds=2 * seconds)  # nobody at hand is as long
    for known in ((archived,), (archived, longest)):
        assert best(*known, copy("fresh", md5=md5, size=size, seconds=seconds)) == "archived"


def test_larger_files_do_not_make_it_shorter_step_by_step() -> None:
    """Each is within 15 % of the one before; the last is not of the longest that was there."""
    known = (kept("9 s", seconds=9, size=200), past("10 s", "a", "9 s", seconds=10))
    assert best(*known, copy("8 s", seconds=8, size=300)) == "9 s"


def test_what_gave_way_does_not_come_back() -> None:
    known = (kept("1", "a", size=200, seconds=9), past("2", "a", "1", size=100, seconds=10, md5="old"))
    [cluster] = clusters(*known, copy("again", "a", size=999, seconds=10, md5="old"))
    assert named(cluster.best) == "1"


def test_bytes_that_were_dropped_have_no_best_copy() -> None:
    [cluster] = clusters(past("1", "a", "1", md5="x"), copy("2", "a", md5="x"))
    assert cluster.best is None


def test_rank() -> None:
    order = [
        kept("verified", popularity=1, size=10),
        kept("found often", popularity=9, size=5, verified=False),
        kept("large", popularity=3, size=20, verified=False),
        kept("small", popularity=3, size=10, verified=False),
        kept("small too", popularity=3, size=10, verified=False),
    ]
    assert all(rules.ranked(each) == order for each in permutations(order))


def test_names() -> None:
    again = GoalRef(5000, GOAL.event_id, 2)
    assert rules.object_key(GOAL, "abc") == "watch/videos/5000_40_234_Goal_1/abc.mp4"
    assert rules.object_key(again, "abc") == "watch/videos/5000_40_234_Goal_1/g2/abc.mp4"
    tenants = [TenantId(UUID(int=number)) for number in (1, 2)]
    hashes = {rules.archived_as(tenant, goal, md5) for tenant in tenants for goal in (GOAL, again) for md5 in "ab"}
    assert len(hashes) == 8
    assert rules.archived_as(tenants[0], GOAL, "a") in hashes


def test_title_and_time() -> None:
    facts = GoalFactsForTitle(
        GOAL, datetime(2026, 3, 14, 23, 30, tzinfo=UTC), "Northport", "Göteryd", 1, 0, "M. Sørensen", 45, 3
    )
    assert rules.title(facts) == "Northport 1-0 Göteryd, M. Sørensen 45+3'"
    assert rules.title(replace(facts, extra=None, player_name=None)) == "Northport 1-0 Göteryd, unknown 45'"
    assert rules.kept_until(facts.kick_off, timedelta(days=14)) == datetime(2026, 3, 29, tzinfo=UTC)


def test_what_is_missing() -> None:
    whole = WaitingVideo(FoundRef("1" * 18), "url", "key", "md5", 1, 1, 1, 1, None, False, None, "dense:0.25:")
    assert rules.what_is_missing(whole) is None
    assert rules.what_is_missing(replace(whole, verified=None, md5="")) == "without bytes, validation"


# --- whatever comes

SCENES = st.text("abcdef", min_size=1, max_size=2)


@st.composite
def arrivals(draw: st.DrawFn) -> list[Copy]:
    """Videos as searches bring them: some twice, in no order."""
    count = draw(st.integers(1, 9))
    made = [
        copy(
            f"post {number}",
            "".join(sorted(draw(SCENES))),
            size=draw(st.integers(1, 5)) * 100,
            seconds=draw(st.sampled_from([5, 8, 9, 10, 11, 20])),
            verified=draw(st.booleans()),
        )
        for number in range(count)
    ]
    again = draw(st.lists(st.sampled_from(made), max_size=3))
    return [*made, *(replace(each, name=f"again {number}") for number, each in enumerate(again))]


class Archive:
    """The archive of one goal as the tables hold it."""

    def __init__(self) -> None:
        self.kept: dict[str, Copy] = {}
        self.past: list[Copy] = []

    def take(self, batch: Sequence[Copy]) -> None:
        for cluster in rules.clusters([*self.kept.values(), *self.past, *batch], shares_a_letter):
            top = cluster.best
            assert top
            name = top.name
            replaced = [self.kept.pop(each) for each in cluster.replaced]
            stands = replace(top, popularity=cluster.popularity, verified=cluster.verified, kept_as=name)
            self.kept[name] = replace(stands, standing=CopyState.KEPT)
            gone = [each for each in (*replaced, *cluster.fresh) if each.name != name]
            self.past = [
                replace(each, kept_as=name) if each.kept_as in cluster.replaced else each for each in self.past
            ]
            self.past += [replace(each, standing=CopyState.PAST, kept_as=name, popularity=0) for each in gone]

    def groups(self) -> set[frozenset[str]]:
        """Which videos stand together."""
        together: dict[str | None, set[str]] = {}
        for each in (*self.kept.values(), *self.past):
            together.setdefault(each.kept_as, set()).add(each.name)
        return {frozenset(names) for names in together.values()}


@given(arrivals(), st.randoms(use_true_random=False), st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_whatever_the_order_the_same_videos_are_one_and_nothing_is_lost(
    videos: list[Copy], random: object, sizes: list[int]
) -> None:
    shuffled = list(videos)
    random.shuffle(shuffled)  # pyright: ignore[reportAttributeAccessIssue]
    at_once, in_turn = Archive(), Archive()
    at_once.take(videos)
    for size in sizes:
        in_turn.take(shuffled[:size])
        shuffled = shuffled[size:]
    in_turn.take(shuffled)
    assert at_once.groups() == in_turn.groups()
    for archive in (at_once, in_turn):
        assert sum(each.popularity for each in archive.kept.values()) == len(videos)
    popular = [sorted(each.popularity for each in archive.kept.values()) for archive in (at_once, in_turn)]
    assert popular[0] == popular[1]


@given(arrivals())
def test_the_best_copy_never_gets_worse(videos: list[Copy]) -> None:
    archive = Archive()
    for video in videos:
        before = dict(archive.kept)
        archive.take([video])
        for stands in archive.kept.values():
            members = [each for each in (*archive.past, stands) if each.kept_as == stands.name]
            longest = max(each.duration_ms for each in members)
            assert rules.are_same_length(stands.duration_ms, longest)
            for gone in (before[each.name] for each in members if each.name in before and each.name != stands.name):
                assert stands.duration_ms > gone.duration_ms or stands.size_bytes >= gone.size_bytes


@given(arrivals())
def test_two_of_one_length_end_with_the_largest_file(videos: list[Copy]) -> None:
    """As far as bytes were there at the same time, the order does not matter for the best copy either."""
    same = [replace(each, duration_ms=10_000) for each in videos]
    at_once, in_turn = Archive(), Archive()
    at_once.take(same)
    for video in reversed(same):
        in_turn.take([video])
    sizes = [sorted(each.size_bytes for each in archive.kept.values()) for archive in (at_once, in_turn)]
    assert sizes[0] == sizes[1]


@given(arrivals())
def test_taking_in_the_same_again_adds_nothing_but_popularity(videos: list[Copy]) -> None:
    archive = Archive()
    archive.take(videos)
    before = set(archive.kept)
    archive.take([replace(each, name=f"once more {each.name}") for each in videos])
    assert set(archive.kept) == before
    assert sum(each.popularity for each in archive.kept.values()) == 2 * len(videos)
