from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from touchline.watch.downloads.rules import Blocked, DownloadFailure, Gone, Malformed, NoVideo
from touchline.watch.downloads.sources import best_file, token_of

JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["__typename", "mediaDetails", "type", "video_info", "variants", "url", "bitrate", "content_type", "tombstone",
         "text", "ext_media_availability", "status"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


def variant(url: str, bit_rate: object = 0, kind: str = "video/mp4") -> dict[str, object]:
    return {"content_type": kind, "bitrate": bit_rate, "url": url}


def video(*variants: dict[str, object], **more: object) -> dict[str, object]:
    return {"type": "video", "video_info": {"variants": list(variants)}, **more}


def post(*media: object, **more: object) -> dict[str, object]:
    return {"__typename": "Tweet", "id_str": "1", "mediaDetails": list(media), **more}


HLS = variant("playlist", 99_999_999, "application/x-mpegURL")


@pytest.mark.parametrize(
    ("document", "index", "url"),
    [
        (post(video(HLS, variant("low", 256_000), variant("high", 2_176_000), variant("mid", 832_000))), 1, "high"),
        (post(video(variant("a", 1)), video(variant("b", 1))), 2, "b"),
        (post({"type": "photo"}, video(variant("a", 1))), 1, "a"),
        (post({"type": "animated_gif", "video_info": {"variants": [variant("gif", 0)]}}), 1, "gif"),
        (post(video(variant("odd", "fast"), variant("even", 5))), 1, "even"),
        (post(video(variant("a", 1), ext_media_availability={"status": "Available"})), 1, "a"),
    ],
)
def test_the_best_file(document: object, index: int, url: str) -> None:
    assert best_file(document, index).url == url


@pytest.mark.parametrize(
    ("told", "length_ms"), [(61_234, 61_234), (0, None), (-1, None), (None, None), ("60", None), (True, None)]
)
def test_how_long_the_network_says_it_is(told: object, length_ms: int | None) -> None:
    info = {"variants": [variant("a", 1)], "duration_millis": told}
    assert best_file(post({"type": "video", "video_info": info}), 1).duration_ms == length_ms


@pytest.mark.parametrize(
    ("document", "failure"),
    [
        ({}, Malformed),
        ([], Malformed),
        (None, Malformed),
        ("Tweet", Malformed),
        ({"__typename": "TweetInterstitial"}, Malformed),
        ({"__typename": "TweetTombstone", "tombstone": {"text": {"text": "This Post was deleted"}}}, Gone),
        ({"__typename": "TweetTombstone"}, Gone),
        ({"tombstone": "gone"}, Gone),
        (post(), NoVideo),
        (post({"type": "photo"}), NoVideo),
        (post(video(HLS)), NoVideo),
        (post({"type": "video"}), NoVideo),
        (post({"type": "video", "video_info": None}), NoVideo),
        (post(video(variant("a", 1), ext_media_availability={"status": "Unavailable"})), Blocked),
        ({"__typename": "Tweet", "mediaDetails": "none"}, NoVideo),
    ],
)  # fmt: skip
def test_why_there_is_none(document: object, failure: type[DownloadFailure]) -> None:
    with pytest.raises(DownloadFailure) as caught:
        best_file(document, 1)
    assert type(caught.value) is failure


@given(JSON, st.integers(1, 10))
def test_whatever_comes_is_a_file_or_a_failure(document: object, index: int) -> None:
    with suppress(DownloadFailure):
        assert isinstance(best_file(document, index).url, str)


@given(st.integers(10**17, 10**20))
def test_a_token_has_letters_that_the_endpoint_takes(post_id: int) -> None:
    assert re.fullmatch(r"[1-9a-z]+", token_of(str(post_id)))
