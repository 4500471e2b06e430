"""What a search shows of a generated day, against the truth of that day."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path

import pytest

from tests.support.world import STARTS, TinyVideos, day_of, post, promoted
from touchline.kernel.clock import ManualClock
from touchline.world.clock import DayClock
from touchline.world.context import World
from touchline.world.days.building import build
from touchline.world.days.generating import Knobs, generate
from touchline.world.days.model import Day
from touchline.world.days.recipes import family
from touchline.world.days.truth import truth
from touchline.world.social.timeline import Search, Tab, begin, find
from touchline.world.social.words import words_of


def world_at(day: Day, at_ms: int) -> World:
    clock = DayClock(ManualClock(STARTS + timedelta(milliseconds=at_ms)), STARTS)
    return World(day, clock, TinyVideos(Path()))


def scrolled(world: World, query: str, tab: Tab = Tab.LIVE) -> list[str]:
    """The ids to the end of the results, without adverts."""
    search = Search(query, tab, world.clock.day_ms())
    found = list[str]()
    while True:
        page = find(world, search)
        found += [each.id for each in page.posts if not each.is_promoted]
        if page.cursor is None:
            return found
        search = begin(query, tab, page.cursor, world.clock.day_ms())


@cache
def generated(seed: int) -> Day:
    return build(generate(Knobs(seed=seed, matches=3)))


def queries(day: Day) -> Iterator[tuple[str, str]]:
    """Of every goal: the scorer with what people call either team."""
    fixtures = {fixture.id: fixture for fixture in day.fixtures}
    for goal in day.goals:
        fixture = fixtures[goal.fixture_id]
        aliases = {word for team in (fixture.home, fixture.away) for each in team.words for word in words_of(each)}
        yield from ((goal.key, f"{name} {alias}") for name in words_of(family(goal.player)) for alias in aliases)


@pytest.mark.parametrize("seed", [1, 4])
def test_the_posts_that_the_truth_calls_found_are_found(seed: int) -> None:
    day = generated(seed)
    day = replace(day, posts=tuple(replace(each, removed_ms=None) for each in day.posts))
    world = world_at(day, day.length_ms)
    found = dict[str, set[str]]()
    for goal, query in queries(day):
        found.setdefault(goal, set()).update(scrolled(world, query))
    told = truth(day)["posts"]
    wanted = {each["id"]: each["about"] for each in told if each["about"] and not each["is_promoted"]}
    for each in told:
        if each["id"] in wanted:
            assert (each["id"] in found[each["about"]]) is each["is_found"]
    assert any(each["is_found"] for each in told)


def test_only_what_is_posted_and_not_removed_is_shown() -> None:
    posts = [post(number, number, "Northport") for number in range(1, 6)]
    posts[1] = replace(posts[1], removed_ms=240_000)
    day = day_of(posts)
    shown = {minute: scrolled(world_at(day, minute * 60_000), "northport") for minute in (0, 1, 3, 4, 9)}
    ids = [each.id for each in posts]
    assert shown == {
        0: [],
        1: [ids[0]],
        3: [ids[2], ids[1], ids[0]],
        4: [ids[3], ids[2], ids[0]],
        9: [ids[4], ids[3], ids[2], ids[0]],
    }


def test_adverts_come_at_their_places_and_each_once() -> None:
    posts = [post(number, number, "Northport") for number in range(40)]
    adverts = [promoted(post(100 + number, 0, "Buy")) for number in range(3)]
    world = world_at(day_of([*posts, *adverts]), 10**7)
    first = find(world, Search("northport", Tab.LIVE, 10**7))
    second = find(world, begin("northport", "live", first.cursor or "", 10**7))
    places = [place for place, each in enumerate([*first.posts, *second.posts]) if each.is_promoted]
    assert places == [3, 13, 23]
    assert find(world, Search("nothing", Tab.LIVE, 10**7)).posts == ()


@pytest.mark.parametrize("cursor", ["", "scroll:x:1", "scroll:-1:1", "scroll:99999999999:0", "scroll:1:999999"])
def test_a_cursor_that_nobody_gave_is_no_error(cursor: str) -> None:
    world = world_at(day_of([post(1, 1, "Northport")]), 10**6)
    assert find(world, begin("northport", "live", cursor, 10**6)).cursor is None
