"""The network's video CDN: ranges, playlists, posters, and each way in which a video fails to arrive."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import given, strategies as st
from PIL import Image

from touchline_world.social.cdn import ByteRange, Unsatisfiable, Version, is_unchanged, requested_range, still_applies
from touchline_world.social.documents import hosted_clips

from .conftest import Small

VERSION = Version('"abc"', datetime(2026, 3, 14, 13, 0, 0, 123_000, tzinfo=UTC))
SAME, LATER, EARLIER = (f"Sat, 14 Mar 2026 {time} GMT" for time in ("13:00:00", "13:00:01", "12:59:59"))


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, None),
        ("", None),
        ("bytes=0-9", ByteRange(0, 10)),
        ("bytes=90-", ByteRange(90, 100)),
        ("bytes=-10", ByteRange(90, 100)),
        ("bytes=-500", ByteRange(0, 100)),
        ("bytes=50-500", ByteRange(50, 100)),
        ("Bytes= 0-0 ", ByteRange(0, 1)),
        ("bytes=-", None),
        ("bytes=9-3", None),  # not valid, and so ignored
        ("bytes=0-1,5-6", None),
        ("items=0-1", None),
        ("bytes=one-two", None),
    ],
)
def test_spans(header: str | None, span: ByteRange | None) -> None:
    assert requested_range(header, 100) == span


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_beyond_the_end(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        requested_range(header, 100)


@given(st.text(max_size=40) | st.from_regex(r"bytes=[0-9]{0,19}-[0-9]{0,19}", fullmatch=True), st.integers(0, 10**12))
def test_a_span_lies_within_the_file(header: str, size: int) -> None:
    try:
        span = requested_range(header, size)
    except Unsatisfiable:
        return
    assert span is None or 0 <= span.start < span.stop <= size


@pytest.mark.parametrize(
    ("none_match", "since", "unchanged"),
    [
        (None, None, False),
        ('"abc"', None, True),
        ('W/"abc"', None, True),
        ('"xyz", "abc"', None, True),
        ("*", None, True),
        ('"xyz"', None, False),
        ('"xyz"', LATER, False),  # the tag decides
        (None, SAME, True),
        (None, LATER, True),
        (None, EARLIER, False),
        (None, "last week", False),
    ],
)
def test_what_the_other_side_has_already(none_match: str | None, since: str | None, unchanged: bool) -> None:
    assert is_unchanged(VERSION, none_match, since) is unchanged


@pytest.mark.parametrize(
    ("header", "applies"),
    [(None, True), ('"abc"', True), ('"xyz"', False), (SAME, True), (LATER, False), ("nonsense", False)],
)
def test_a_range_of_this_version_only(header: str | None, applies: bool) -> None:
    assert still_applies(VERSION, header) is applies


def best(small: Small, name: str) -> str:
    *_, variant = hosted_clips(small.posts[name])[0].variants()
    return f"/media/{variant.path}"


async def content(small: Small, name: str) -> bytes:
    path: Path = await small.world.videos.file(small.posts[name].clips[0].recipe)
    return await asyncio.to_thread(path.read_bytes)


async def test_the_whole(small: Small) -> None:
    whole = await content(small, "whole")
    answer = await small.client.get(best(small, "whole"))
    assert (answer.status_code, answer.content) == (200, whole)
    head = await small.client.head(best(small, "whole"))
    assert (head.status_code, head.content) == (200, b"")
    for name, value in {
        "content-type": "video/mp4",
        "content-length": str(len(whole)),
        "accept-ranges": "bytes",
        "etag": f'"{small.posts["whole"].clips[0].recipe.key}"',
        "last-modified": "Sat, 14 Mar 2026 12:40:00 GMT",
    }.items():
        assert answer.headers[name] == head.headers[name] == value


@pytest.mark.parametrize(
    ("header", "start", "stop"), [("bytes=0-99", 0, 100), ("bytes=500-", 500, None), ("bytes=-7", -7, None)]
)
async def test_parts(small: Small, header: str, start: int, stop: int | None) -> None:
    whole = await content(small, "whole")
    answer = await small.client.get(best(small, "whole"), headers={"Range": header})
    assert (answer.status_code, answer.content) == (206, whole[start:stop])
    first = start % len(whole)
    last = (stop or len(whole)) - 1
    assert answer.headers["content-range"] == f"bytes {first}-{last}/{len(whole)}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Range": "bytes=99999999-"}, 416),
        ({"If-None-Match": "{etag}"}, 304),
        ({"If-Modified-Since": "Sat, 14 Mar 2026 12:40:00 GMT"}, 304),
        ({"If-None-Match": '"other"'}, 200),
        ({"Range": "bytes=0-9", "If-Range": "{etag}"}, 206),
        ({"Range": "bytes=0-9", "If-Range": '"other"'}, 200),
    ],
)
async def test_conditions(small: Small, headers: dict[str, str], status: int) -> None:
    tag = f'"{small.posts["whole"].clips[0].recipe.key}"'
    asked = {name: value.replace("{etag}", tag) for name, value in headers.items()}
    answer = await small.client.get(best(small, "whole"), headers=asked)
    assert answer.status_code == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(await content(small, 'whole'))}"


@pytest.mark.parametrize(("delivery", "status"), [("gone", 404), ("forbidden", 403), ("blocked", 451)])
async def test_refusals(small: Small, delivery: str, status: int) -> None:
    answer = await small.client.get(best(small, delivery))
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")


async def test_busy_the_first_times(small: Small) -> None:
    answers = [await small.client.get(best(small, "busy")) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "2"


async def test_cut_off(small: Small) -> None:
    whole = await content(small, "cut_off")
    received = bytearray()
    with pytest.raises(httpx.RemoteProtocolError):
        async with small.client.stream("GET", best(small, "cut_off")) as answer:
            assert answer.headers["content-length"] == str(len(whole))
            async for piece in answer.aiter_raw():
                received += piece
    assert bytes(received) == whole[: len(whole) // 2]


async def test_slow_but_whole(small: Small) -> None:
    assert (await small.client.get(best(small, "slow"))).content == await content(small, "slow")


async def test_bytes_that_are_no_video(small: Small) -> None:
    first, again = [(await small.client.get(best(small, "broken"))).content for _ in range(2)]
    part = await small.client.get(best(small, "broken"), headers={"Range": "bytes=10-19"})
    assert first == again
    assert part.content == first[10:20]
    assert b"ftyp" not in first[:64]


async def test_an_empty_body(small: Small) -> None:
    answer = await small.client.get(best(small, "empty"))
    assert (answer.status_code, answer.headers["content-length"]) == (200, "0")


async def test_a_lower_variant_has_its_own_address(small: Small) -> None:
    lowest, *_ = hosted_clips(small.posts["video"])[0].variants()
    answer = await small.client.head(f"/media/{lowest.path}")
    assert answer.status_code == 200
    assert answer.headers["etag"] != (await small.client.head(best(small, "video"))).headers["etag"]


@pytest.mark.parametrize(
    "change",
    [
        ("640x360", "1280x720"),
        ("ext_tw_video", "amplify_video"),
        (".mp4", "0.mp4"),
        ("/vid/avc1/", "/vid/avc1/..%2f"),
    ],
)
async def test_no_other_path_leads_anywhere(small: Small, change: tuple[str, str]) -> None:
    assert (await small.client.get(best(small, "whole").replace(*change))).status_code == 404


async def test_a_video_is_not_there_before_its_post(small: Small) -> None:
    post = small.posts["video"]
    before = small.world.clock.at(post.at_ms) - small.wall.now()
    try:
        small.wall.advance(before * 2)
        assert (await small.client.get(best(small, "video"))).status_code == 404
    finally:
        small.wall.advance(before * -2)


async def test_posters_and_playlists(small: Small, tmp_path: Path) -> None:
    placed = hosted_clips(small.posts["video"])[0]
    poster = await small.client.get(f"/media/{placed.poster}")
    (tmp_path / "poster.jpg").write_bytes(poster.content)
    with Image.open(tmp_path / "poster.jpg") as picture:
        assert (picture.format, picture.size) == ("JPEG", (320, 180))
    address = f"{small.url}/media/{placed.playlist}"
    playlist = (await small.client.get(address)).text.splitlines()
    assert playlist[0] == "#EXTM3U"
    assert "#EXTINF:6.000," in playlist
    piece = httpx.URL(address).join(playlist[-2])
    assert (await small.client.get(piece)).content == await content(small, "video")
