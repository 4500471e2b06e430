"""What is made of the browser role's documents."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import httpx
import pytest
from hypothesis import given, settings, strategies as st

from touchline.kernel import Defect, Misconfigured, RateLimited, TouchlineError, Unavailable
from touchline.watch.discovery.client import (
    LONGEST_TEXT,
    MOST_VIDEOS,
    LeftAlone,
    LoginExpired,
    check,
    is_post_id,
    read_videos,
)
from touchline.watch.http_request import ServiceReply

HOSTS = ("x.com",)
ID = "1850000000000001001"
ENTRY = {
    "url": f"https://x.com/fan/status/{ID}",
    "post_id": ID,
    "video_index": 1,
    "video_count": 1,
    "author": "fan",
    "text": "Sørensen!",
    "posted_at": "2026-03-14T12:57:00Z",
    "duration_s": 6,
}


def read(*entries: Any) -> list[dict[str, Any]]:
    return [asdict(video) for video in read_videos({"videos": list(entries)}, "q", HOSTS)]


def test_a_video() -> None:
    assert read(ENTRY) == [
        {
            "url": ENTRY["url"],
            "post_id": ID,
            "video_index": 1,
            "author": "fan",
            "text": "Sørensen!",
            "posted_at": "2026-03-14T12:57:00+00:00",
            "duration_s": 6.0,
            "query": "q",
        }
    ]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"posted_at": None}, {"posted_at": None}),
        ({"posted_at": "yesterday"}, {"posted_at": None}),
        ({"posted_at": "2026-03-14T12:57:00"}, {"posted_at": "2026-03-14T12:57:00+00:00"}),
        ({"duration_s": "6"}, {"duration_s": None}),
        ({"duration_s": True}, {"duration_s": None}),
        ({"duration_s": -1}, {"duration_s": None}),
        ({"text": None}, {"text": ""}),
        ({"text": "a\x00b\ud800c"}, {"text": "abc"}),
        ({"post_id": None}, {"post_id": ID}),
        ({"video_index": 0}, {"video_index": 1}),
        ({"url": f"https://x.com/fan/status/{ID}/video/1?s=20", "video_index": None}, {"video_index": 1}),
    ],
)
def test_a_field_that_is_odd_is_left_out(changed: dict[str, Any], expected: dict[str, Any]) -> None:
    [video] = read(ENTRY | changed)
    assert {name: video[name] for name in expected} == expected


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        {},
        ENTRY | {"url": "https://elsewhere.example/fan/status/" + ID},
        ENTRY | {"url": None},
        ENTRY | {"post_id": "123"},
        ENTRY | {"post_id": ID[:-1] + "9"},
        ENTRY | {"url": "https://x.com/fan/status/123", "post_id": "123"},
    ],
)
def test_what_names_no_post_is_no_video(entry: Any) -> None:
    assert read(entry, ENTRY) == read(ENTRY)


def test_a_post_with_ten_videos_yields_ten() -> None:
    assert [each["video_index"] for each in read(ENTRY | {"video_count": 10})] == [*range(1, 11)]


def test_there_is_an_end() -> None:
    many = [
        ENTRY | {"url": f"https://x.com/fan/status/{n}", "post_id": str(n), "text": "a" * 9999}
        for n in range(10**18, 10**18 + 99)
    ]
    found = read(*many)
    assert len(found) == MOST_VIDEOS
    assert {len(each["text"]) for each in found} == {LONGEST_TEXT}


@pytest.mark.parametrize("document", [None, [], {}, {"videos": None}, {"videos": {}}, "videos"])
def test_an_answer_without_a_list_is_not_nothing_found(document: Any) -> None:
    with pytest.raises(Unavailable):
        read_videos(document, "q", HOSTS)


def test_a_host_that_nobody_named_is_not_nothing_found() -> None:
    elsewhere = ENTRY | {"url": f"http://127.0.0.1:8080/social/fan/status/{ID}"}
    with pytest.raises(Misconfigured, match=r"127\.0\.0\.1:8080"):
        read(elsewhere)


def reply(status: int, document: object, **headers: str) -> ServiceReply:
    return ServiceReply(status, httpx.Headers(headers), json.dumps(document).encode())


PROBLEM = {"code": "unavailable", "title": "it failed", "detail": "because", "next": "Do this.", "retryable": True}


@pytest.mark.parametrize(
    ("case", "answer", "failure"),
    [
        ("a login", reply(503, PROBLEM | {"reason": "login_needed"}), LoginExpired),
        ("anything else", reply(503, PROBLEM | {"reason": "browser_gone"}), Unavailable),
        ("a time-out", reply(504, PROBLEM), Unavailable),
        ("no document", reply(502, "Bad Gateway"), Unavailable),
        ("too many", reply(429, PROBLEM), RateLimited),
        ("too many for a moment", reply(429, PROBLEM, **{"Retry-After": "5"}), RateLimited),
        ("too many for a while", reply(429, PROBLEM, **{"Retry-After": "900"}), LeftAlone),
        ("no Chromium", reply(500, PROBLEM | {"retryable": False}), Misconfigured),
        ("our mistake", reply(400, PROBLEM), Defect),
        ("another service", reply(404, {}), Defect),
        ("a redirect", reply(302, {}), Unavailable),
    ],
)
def test_what_went_wrong(case: str, answer: ServiceReply, failure: type[TouchlineError]) -> None:
    with pytest.raises(failure) as caught:
        check(answer)
    assert type(caught.value) is failure, case


def test_what_to_do_is_passed_on() -> None:
    with pytest.raises(LoginExpired) as login:
        check(reply(503, PROBLEM | {"reason": "login_needed"}))
    assert (login.value.what, login.value.why, login.value.hint) == ("it failed", "because", "Do this.")
    assert not login.value.retryable, "trying again does not help"
    with pytest.raises(RateLimited) as limited:
        check(reply(429, PROBLEM, **{"Retry-After": "7"}))
    assert limited.value.retry_after == timedelta(seconds=7)


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


@settings(max_examples=50)
@given(st.lists(st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in ENTRY.items()})))
def test_whatever_is_listed_only_posts_come_out(entries: list[dict[str, Any]]) -> None:
    for video in read(*entries):
        assert is_post_id(video["post_id"])
        assert 1 <= video["video_index"] <= 10
