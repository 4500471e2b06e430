from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings, strategies as st

from touchline.watch.browser.rules import (
    PageState,
    Post,
    SearchRequest,
    ShownPost,
    is_login,
    is_wanted,
    known,
    limit_ends_in,
    post_ids,
    reaches_back,
    read_length,
    read_view,
    room_from,
    search_url,
    user_agent,
    videos_of,
)

NETWORK = "https://x.com"
ID = "1850000000000000001"
NOW = datetime(2026, 3, 14, 13, 0, tzinfo=UTC)
SHOWN = ShownPost(
    link=f"{NETWORK}/somebody/status/{ID}",
    moment="2026-03-14T12:59:00.000Z",
    text="Goal",
    is_cut=False,
    is_promoted=False,
    is_quoted=False,
    lengths=("0:34", None),
)
POST = Post(ID, f"{NETWORK}/somebody/status/{ID}", "somebody", "Goal", False, False, NOW, ("0:34", None))
SEARCH = SearchRequest("Salah Liverpool", frozenset(), NOW - timedelta(minutes=3))


@pytest.mark.parametrize(
    ("url", "found"),
    [
        (f"https://x.com/a/status/{ID}", True),
        (f"https://twitter.com/a_b/status/{ID}/video/1", True),
        (f"https://x.com/a/statuses/{ID}?s=20", True),
        (f"https://x.com/i/status/{ID}#m", True),
        (ID, True),
        ("https://x.com/a/status/12345678901234567", False),
        (f"https://x.com/a/status/{ID}{ID}", False),
        ("https://x.com/a/status/" + "\N{FULLWIDTH DIGIT ONE}" * 19, False),
        ("https://x.com/a", False),
        ("", False),
    ],
)
def test_post_ids(url: str, found: bool) -> None:
    assert post_ids([url]) == (frozenset({ID}) if found else frozenset())


@settings(max_examples=30)
@given(st.lists(st.text(), max_size=5))
def test_any_text_may_stand_where_links_should(texts: list[str]) -> None:
    assert all(each.isascii() and each.isdigit() and len(each) >= 18 for each in post_ids(texts))


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ("an advert", replace(SHOWN, is_promoted=True)),
        ("an advert without a mark", replace(SHOWN, link=None, moment=None)),
        ("no time", replace(SHOWN, moment="yesterday")),
        ("a cut id", replace(SHOWN, link=f"{NETWORK}/somebody/status/18500000")),
        ("another site", replace(SHOWN, link=f"https://elsewhere.example/somebody/status/{ID}")),
        ("another scheme", replace(SHOWN, link=f"http://x.com/somebody/status/{ID}")),
        ("no address", replace(SHOWN, link=f"https://[x/somebody/status/{ID}")),
    ],
)
def test_what_is_no_find(case: str, shown: ShownPost) -> None:
    assert known(shown, NETWORK) is None, case


def test_names_with_ad_in_them_are_no_adverts() -> None:
    post = known(replace(SHOWN, text="Adeyemi! #ad"), NETWORK)
    assert post is not None
    assert (post.id, post.url, post.author) == (ID, f"{NETWORK}/somebody/status/{ID}", "somebody")
    assert post.posted_at == NOW - timedelta(minutes=1)


def test_each_video_of_a_post() -> None:
    told = [(each.video_index, each.video_count, each.duration_s) for each in videos_of(POST)]
    assert told == [(1, 2, 34), (2, 2, None)]


@pytest.mark.parametrize(
    ("case", "post", "search", "wanted"),
    [
        ("new, with videos", POST, SEARCH, True),
        ("at the limit", replace(POST, posted_at=SEARCH.since), SEARCH, True),
        ("too old", replace(POST, posted_at=SEARCH.since - timedelta(seconds=1)), SEARCH, False),
        ("words alone", replace(POST, lengths=()), SEARCH, False),
        ("known", POST, replace(SEARCH, excluded=frozenset({ID})), False),
    ],
)
def test_is_wanted(case: str, post: Post, search: SearchRequest, wanted: bool) -> None:
    assert is_wanted(post, search) is wanted, case


NEW, OLD = POST, replace(POST, posted_at=SEARCH.since - timedelta(minutes=1))


@pytest.mark.parametrize(
    ("case", "posts", "enough"),
    [
        ("nothing yet", [], False),
        ("new ones", [NEW] * 5, False),
        ("one out of order", [NEW, OLD, NEW, OLD, NEW], False),
        ("too old ones", [NEW, OLD, OLD, OLD], True),
        ("quoted ones are as old as they like", [NEW, *[replace(OLD, is_quoted=True)] * 5], False),
    ],
)
def test_reaches_back(case: str, posts: list[Post], enough: bool) -> None:
    assert reaches_back(posts, SEARCH.since) is enough, case


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0:34", 34), ("12:05", 725), ("1:02:03", 3723), ("GIF", None), ("0:3", None), ("1:2:3:4", None), (None, None)],
)
def test_read_length(text: str | None, seconds: int | None) -> None:
    assert read_length(text) == seconds


@pytest.mark.parametrize(
    ("url", "login"),
    [
        ("https://x.com/i/flow/login?redirect_after_login=%2Fsearch", True),
        ("http://127.0.0.1:8000/social/i/flow/login", True),
        ("https://x.com/login", True),
        ("https://x.com/account/access", True),
        ("https://x.com/search?q=login", False),
        ("https://x.com/login_now/status/1", False),
    ],
)
def test_is_login(url: str, login: bool) -> None:
    assert is_login(url) is login


@pytest.mark.parametrize(
    ("shown", "state"),
    [
        ({"url": f"{NETWORK}/i/flow/login"}, PageState.LOGIN),
        ({"failed": True, "empty": True}, PageState.FAILED),
        ({"empty": True}, PageState.EMPTY),
        ({}, PageState.LOADING),
    ],
)
def test_states(shown: dict[str, object], state: PageState) -> None:
    page = {"url": f"{NETWORK}/search", "failed": False, "empty": False, "loading": True, "atEnd": True, "posts": []}
    assert read_view(page | shown).state is state


def test_the_address_of_a_search() -> None:
    url = search_url(NETWORK, 'Sørensen "A&B"', "filter:videos")
    assert url == f"{NETWORK}/search?q=S%C3%B8rensen%20%22A%26B%22%20filter%3Avideos&src=typed_query&f=live"
    assert search_url(NETWORK, "a filter:videos", "filter:videos").count("filter") == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 60),
        ({"retry-after": "90"}, 90),
        ({"retry-after": "0"}, 1),
        ({"retry-after": "999999"}, 3600),
        ({"x-rate-limit-reset": str(int(NOW.timestamp()) + 300)}, 300),
        ({"x-rate-limit-reset": str(int(NOW.timestamp()) - 300)}, 1),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, 60),
        ({"retry-after": "٣", "x-rate-limit-reset": "9" * 400}, 60),
    ],
)
def test_how_long_a_limit_lasts(headers: dict[str, str], seconds: int) -> None:
    assert limit_ends_in(headers, NOW) == timedelta(seconds=seconds)


@given(
    st.lists(st.integers(-2_000, 2_000).map(lambda s: NOW + timedelta(seconds=s)), max_size=30),
    st.integers(1, 10),
    st.integers(1, 900).map(lambda s: timedelta(seconds=s)),
)
def test_never_more_searches_in_a_window_than_allowed(searches: list[datetime], most: int, window: timedelta) -> None:
    """Those from the future are of a clock that was set back: they count as made now, and no longer than a window."""
    free_at = room_from(searches, most, window, NOW)
    recent = [each for each in searches if each > NOW - window]
    assert (free_at is None) == (len(recent) < most)
    if free_at:
        assert NOW < free_at <= NOW + window
        assert len([each for each in recent if min(each, NOW) > free_at - window]) < most


def test_a_browser_without_a_window_says_what_one_with_a_window_says() -> None:
    assert user_agent("156.0.8078.73").endswith("Chrome/156.0.0.0 Safari/537.36")
