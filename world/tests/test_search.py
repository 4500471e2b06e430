"""The network's search: queries, what is shown at a moment, and how ages and counts are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.support.world import STARTS, TinyVideos, day_of, post, promoted
from touchline.kernel import ManualClock
from touchline_world.days.builder import build
from touchline_world.days.generator import GeneratorOptions, generate
from touchline_world.days.model import Day
from touchline_world.days.recipes import family_name
from touchline_world.days.truth import truth
from touchline_world.social.documents import age, count, iso
from touchline_world.social.search import SearchablePost, SearchRequest, Tab, begin_search, find_posts, parse, words_of
from touchline_world.world import DayClock, World

AT = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)


def searched(text: str) -> SearchablePost:
    return SearchablePost(words_of(text), "DockersFan", "es", AT, has_video=True, is_quote=False)


GOAL = searched("GOL! Mikkel Sørensen, Paris Saint-Germain 0-1 #NFC @northport")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("sørensen", True),
        ("SORENSEN", True),
        ("sorensen nfc", True),
        ("#nfc", True),
        ("@Northport", True),
        ("soren", False),  # words are whole
        ("sorensen arsenal", False),
        ("saint-germain", True),
        ("saint germain", True),
        ('"mikkel sorensen"', True),
        ('"sorensen mikkel"', False),
        ('"sorensen', True),  # a quotation that never ends
        ("sorensen -arsenal", True),
        ("sorensen -nfc", False),
        ('sorensen -"mikkel sorensen"', False),
        ("arsenal OR nfc", True),
        ("arsenal OR nfc sorensen", True),  # (arsenal OR nfc) sorensen
        ("sorensen arsenal OR everton", False),  # sorensen (arsenal OR everton)
        ("OR sorensen", True),
        ("sorensen OR", True),
        ("arsenal or nfc", False),  # small letters: a word
        ("sorensen (arsenal OR nfc)", True),
        ("sorensen -(arsenal OR nfc)", False),
        ("(sorensen", True),
        ("sorensen)", True),
        ("sorensen) arsenal", False),
        ("((((((sorensen))))))", True),  # too deep: only the brackets are ignored
        ("filter:videos", True),
        ("-filter:videos", False),
        ("sorensen filter:replies", False),
        ("filter:unheard", False),  # just words
        ("from:dockersfan", True),
        ("from:@DockersFan gol", True),
        ("from:somebody", False),
        ("-from:somebody gol", True),
        ("lang:es", True),
        ("lang:en", False),
        ("gol since:2026-03-14", True),
        ("gol since:2026-03-15", False),
        ("gol until:2026-03-15", True),
        ("gol until:2026-03-14", False),
        ("gol since_time:1773493199 until_time:1773493201", True),
        ("gol until_time:1773493200", False),
        ("since:yesterday", False),
        ("", False),
        ("   ", False),
        ("!!! ???", False),
        ("-", False),
    ],
)
def test_finding(query: str, found: bool) -> None:
    assert parse(query)(GOAL) is found


@given(st.text(max_size=700))
def test_nobodys_query_is_an_error(query: str) -> None:
    assert parse(query)(GOAL) in {True, False}


@given(st.lists(st.sampled_from(["a", '"b c"', "-d", "OR", "(", ")", "filter:videos", "from:x", "since:2026-01-01"])))
def test_nobodys_brackets_are_an_error(parts: list[str]) -> None:
    assert parse(" ".join(parts))(GOAL) in {True, False}


WORDS = st.text("abcøé", min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_a_post_is_found_by_any_of_its_words_in_any_order(words: list[str], data: st.DataObject) -> None:
    post = searched(" ".join(words))
    asked = data.draw(st.lists(st.sampled_from(words), min_size=1))
    assert parse(" ".join(asked).upper())(post)
    assert parse(f'"{" ".join(words)}"')(post)
    assert not parse(f"{asked[0]} -{asked[0]}")(post)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Łukasz Đorđević", ("lukasz", "dordevic")),
        ("Groß Weiß", ("gross", "weiss")),
        ("I\u015f\u0131k", ("isik",)),
        ("M. Ødegaard's", ("m", "odegaard", "s")),
        ("⚽️ 90+2", ("90", "2")),
    ],
)
def test_words(text: str, words: tuple[str, ...]) -> None:
    assert words_of(text) == words


def world_at(day: Day, at_ms: int) -> World:
    clock = DayClock(ManualClock(STARTS + timedelta(milliseconds=at_ms)), STARTS)
    return World(day, clock, TinyVideos(Path()))


def scrolled(world: World, query: str, tab: Tab = Tab.LIVE) -> list[str]:
    """The ids to the end of the results, without adverts."""
    search = SearchRequest(query, tab, world.clock.day_ms())
    found = list[str]()
    while True:
        page = find_posts(world, search)
        found += [each.id for each in page.posts if not each.is_promoted]
        if page.cursor is None:
            return found
        search = begin_search(query, tab, page.cursor, world.clock.day_ms())


@cache
def generated(seed: int) -> Day:
    return build(generate(GeneratorOptions(seed=seed, matches=3)))


def queries(day: Day) -> Iterator[tuple[str, str]]:
    """Of every goal: the scorer with what people call either team."""
    fixtures = {fixture.id: fixture for fixture in day.fixtures}
    for goal in day.goals:
        fixture = fixtures[goal.fixture_id]
        aliases = {word for team in (fixture.home, fixture.away) for each in team.words for word in words_of(each)}
        yield from ((goal.key, f"{name} {alias}") for name in words_of(family_name(goal.player)) for alias in aliases)


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
    first = find_posts(world, SearchRequest("northport", Tab.LIVE, 10**7))
    second = find_posts(world, begin_search("northport", "live", first.cursor or "", 10**7))
    places = [place for place, each in enumerate([*first.posts, *second.posts]) if each.is_promoted]
    assert places == [3, 13, 23]
    assert find_posts(world, SearchRequest("nothing", Tab.LIVE, 10**7)).posts == ()


@pytest.mark.parametrize("cursor", ["", "scroll:x:1", "scroll:-1:1", "scroll:99999999999:0", "scroll:1:999999"])
def test_a_cursor_that_nobody_gave_is_no_error(cursor: str) -> None:
    world = world_at(day_of([post(1, 1, "Northport")]), 10**6)
    assert find_posts(world, begin_search("northport", "live", cursor, 10**6)).cursor is None


NOW = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("before", "text"),
    [
        (timedelta(0), "now"),
        (timedelta(seconds=12), "12s"),
        (timedelta(seconds=60), "1m"),
        (timedelta(minutes=59, seconds=59), "59m"),
        (timedelta(hours=1), "1h"),
        (timedelta(hours=23, minutes=59), "23h"),
        (timedelta(hours=24), "Mar 13"),
        (timedelta(days=90), "Dec 14, 2025"),
    ],
)
def test_ages(before: timedelta, text: str) -> None:
    assert age(NOW - before, NOW) == text


def test_moments() -> None:
    assert iso(NOW + timedelta(milliseconds=7)) == "2026-03-14T13:00:00.007Z"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1234, "1,234"),
        (10_000, "10K"),
        (12_345, "12.3K"),
        (999_999, "999.9K"),
        (4_500_000, "4.5M"),
    ],
)
def test_counts(number: int, text: str) -> None:
    assert count(number) == text
