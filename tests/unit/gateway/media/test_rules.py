from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from touchline.gateway.media_links import File, Keys, file_of, frame_name, frame_of, narrower
from touchline.kernel import InvalidInput, NotFound, new_artifact_hash, video_id
from touchline.platform.objects.rules import ByteRange
from touchline.process.videos.queries import FrameName
from touchline.serve.playback.files import IMMUTABLE_CACHE, PLAYLIST_CACHE, wanted_bytes

PREFIX = "videos/proxy/0199/3"
MANIFEST, POSTER = f"{PREFIX}/index.m3u8", "thumbs/0199/3/poster.jpg"
CLIP = "videos/clips/0199/0200.mp4"
KEYS = Keys(MANIFEST, POSTER, CLIP)


@pytest.mark.parametrize(
    ("width", "key"),
    [
        (1, "thumbs/0199/3/poster-320.jpg"),
        (320, "thumbs/0199/3/poster-320.jpg"),
        (321, "thumbs/0199/3/poster-640.jpg"),
        (640, "thumbs/0199/3/poster-640.jpg"),
        (641, None),
        (10_000, None),
    ],
)
def test_which_poster_is_wide_enough(width: int, key: str | None) -> None:
    """A few sizes are made, and no address makes another."""
    found = narrower(file_of("poster.jpg", KEYS), width)
    assert found == (File(key, "image/jpeg", IMMUTABLE_CACHE) if key else None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("index.m3u8", File(MANIFEST, "application/vnd.apple.mpegurl", PLAYLIST_CACHE)),
        ("poster.jpg", File(POSTER, "image/jpeg", IMMUTABLE_CACHE)),
        ("clip.mp4", File(CLIP, "video/mp4", IMMUTABLE_CACHE, "clip.mp4")),
        ("v0/index.m3u8", File(f"{PREFIX}/v0/index.m3u8", "application/vnd.apple.mpegurl", PLAYLIST_CACHE)),
        ("v0/init.mp4", File(f"{PREFIX}/v0/init.mp4", "video/mp4", IMMUTABLE_CACHE)),
        ("v0/segment-00001.m4s", File(f"{PREFIX}/v0/segment-00001.m4s", "video/iso.segment", IMMUTABLE_CACHE)),
        ("a/b/segment_1.ts", File(f"{PREFIX}/a/b/segment_1.ts", "video/mp2t", IMMUTABLE_CACHE)),
    ],
)
def test_which_object_a_name_stands_for(name: str, expected: File) -> None:
    assert file_of(name, KEYS) == expected


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/",
        "..",
        "../index.m3u8",
        "v0/../../index.m3u8",
        "v0/..%2findex.m3u8",
        "./index.m3u8",
        "v0//index.m3u8",
        "/index.m3u8",
        "v0/index.m3u8/",
        ".hidden.ts",
        "-v0.ts",
        "index.m3u8\n",
        "index.m3u8\x00.ts",
        "index.M3U8",
        "segment.exe",
        "segment",
        "a.b.ts",
        "a\\b.ts",
        "é.ts",
        "a/b/c/d.ts",
        "x" * 90 + ".ts",
    ],
)
def test_every_other_name_is_a_name_of_nothing(name: str) -> None:
    with pytest.raises(NotFound):
        file_of(name, KEYS)


@given(st.text(alphabet=st.sampled_from("ab./%\\\x00-_"), max_size=30).map(lambda text: text + ".ts"))
def test_no_name_leaves_the_prefix(name: str) -> None:
    try:
        key = file_of(name, KEYS).key
    except NotFound:
        return
    assert key == f"{PREFIX}/{name}"
    assert ".." not in key
    assert "%" not in key


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**15 - 1))
def test_the_name_of_a_picture_leads_to_it(attempt: int, timestamp_ms: int) -> None:
    artifact_hash = new_artifact_hash()
    key = f"frames/{video_id(artifact_hash)}/{attempt}/{timestamp_ms}.jpg"
    name = frame_name(FrameName(attempt, timestamp_ms))
    assert frame_of(name, artifact_hash) == File(key, "image/jpeg", IMMUTABLE_CACHE)


@pytest.mark.parametrize(
    "name",
    ["frames/1/a.jpg", "frames/1/1.png", "frames/-1/1.jpg", "frames/1/01.jpg", "frames/1.jpg", "frames/1/2/3.jpg", "x"],
)
def test_other_names_are_no_pictures(name: str) -> None:
    assert frame_of(name, new_artifact_hash()) is None


@pytest.mark.parametrize("name", ["poster.jpg", "clip.mp4"])
def test_what_an_artifact_does_not_have_is_not_there(name: str) -> None:
    with pytest.raises(NotFound):
        file_of(name, Keys(MANIFEST, ""))


def test_a_clip_is_taken_away_under_its_title() -> None:
    assert file_of("clip.mp4", KEYS, "The goal").download_name == "The goal.mp4"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-0", ByteRange(0, 1)),
        ("bytes=0-99", ByteRange(0, 100)),
        ("bytes=10-19", ByteRange(10, 20)),
        ("bytes=10-", ByteRange(10, 100)),
        ("bytes=99-", ByteRange(99, 100)),
        ("bytes=90-5000", ByteRange(90, 100)),
        ("bytes=-10", ByteRange(90, 100)),
        ("bytes=-5000", ByteRange(0, 100)),
        ("bytes=-", None),
        ("bytes=20-10", None),
        ("bytes=0-1,5-6", None),
        ("items=0-1", None),
        ("bytes=a-b", None),
        ("bytes=" + "9" * 30 + "-", None),
    ],
)
def test_which_bytes_were_asked_for(header: str | None, expected: ByteRange | None) -> None:
    assert wanted_bytes(header, 100) == expected


@pytest.mark.parametrize(
    ("header", "size"), [("bytes=100-", 100), ("bytes=100-200", 100), ("bytes=-0", 100), ("bytes=0-", 0)]
)
def test_what_lies_behind_the_end_is_said_so(header: str, size: int) -> None:
    with pytest.raises(InvalidInput):
        wanted_bytes(header, size)
