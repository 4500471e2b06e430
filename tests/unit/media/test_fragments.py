"""Fragments of MP4 that are put behind each other, and the playlist of a recording that lists them."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import av
import pytest
from hypothesis import given, strategies as st

from tests.support.live_windows import SegmentedVideo, segmented
from tests.support.videos import MP4
from touchline.kernel import InvalidInput
from touchline.media.fragments import FragmentTimeline, read_tracks
from touchline.media.playlists import RecordedSegment, read_recording_playlist, recording_playlist

SHORT = replace(MP4, seconds=3, size=(64, 36), encoder={"preset": "ultrafast", "g": "25"})


@pytest.fixture(scope="module")
def video() -> SegmentedVideo:
    return segmented(SHORT)


def times(data: bytes) -> list[float]:
    with av.open(io.BytesIO(data), "r") as container:
        return [frame.time or 0.0 for frame in container.decode(video=0)]


def test_what_follows_a_break_goes_on_where_the_rest_ended(video: SegmentedVideo) -> None:
    timeline, written = FragmentTimeline(video.header), video.header
    ends: list[int] = []
    for number, follows_break in ((1, False), (2, False), (0, True), (2, True)):
        placed = timeline.place(video.segments[number], follows_break=follows_break)
        assert len(placed.data) == len(video.segments[number])
        ends.append(placed.start_us)
        written += placed.data
    shown = times(written)
    assert len(shown) == 100
    steps = [later - earlier for earlier, later in pairwise(shown)]
    assert shown[0] < 0.1
    assert all(step == pytest.approx(0.04, abs=1e-6) for step in steps[:49])
    assert all(0 < step < 0.15 for step in steps)  # sound may outlast the pictures a little before a break
    assert ends == sorted(ends)


def test_the_tracks_of_a_header(video: SegmentedVideo) -> None:
    assert sorted(track.is_video for track in read_tracks(video.header).values()) == [False, True]


@given(data=st.data())
def test_what_is_no_fragment_is_refused_and_never_more(video: SegmentedVideo, data: st.DataObject) -> None:
    whole = video.segments[0]
    place = data.draw(st.integers(0, 600))
    damaged = whole[:place] + data.draw(st.binary(min_size=1, max_size=8)) + whole[place + 8 :]
    timeline = FragmentTimeline(video.header)
    try:
        placed = timeline.place(damaged[: data.draw(st.integers(0, len(whole)))], follows_break=False)
    except InvalidInput:
        return
    assert placed.end_us >= placed.start_us


@pytest.mark.parametrize("header", [b"", b"moov", b"\0\0\0\x08moov", b"\0\0\0\x10moov\0\0\0\x08trak"])
def test_what_is_no_header_is_refused(header: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_tracks(header)


NAMES = st.from_regex(r"[a-f0-9]{8}/[0-9]{8}\.m4s", fullmatch=True)
SEGMENTS = st.lists(
    st.builds(
        RecordedSegment,
        NAMES,
        st.sampled_from(["a/init-1.mp4", "b/init-1.mp4"]),
        st.integers(1, 20_000_000),
        st.booleans(),
        st.just(datetime(2026, 3, 31, 12, 0, 1, 250_000, tzinfo=UTC)),
    ),
    max_size=20,
)


@given(SEGMENTS)
def test_a_playlist_says_what_was_written(segments: list[RecordedSegment]) -> None:
    written = recording_playlist(segments, is_complete=True)
    expected = [replace(one, starts_at=None) for one in segments]
    if expected:
        expected[0] = replace(expected[0], follows_break=False)  # nothing comes before it
    assert read_recording_playlist(written) == expected
    assert written.endswith("#EXT-X-ENDLIST\n")


@given(SEGMENTS, st.integers(0, 20))
def test_a_growing_playlist_is_only_added_to(segments: list[RecordedSegment], count: int) -> None:
    before = recording_playlist(segments[:count], is_complete=False)
    after = recording_playlist(segments, is_complete=False)
    body = before.partition("#EXT-X-INDEPENDENT-SEGMENTS\n")[2]
    assert after.partition("#EXT-X-INDEPENDENT-SEGMENTS\n")[2].startswith(body)
    assert "#EXT-X-PLAYLIST-TYPE:EVENT" in after
    assert "#EXT-X-ENDLIST" not in after


@pytest.mark.parametrize("name", ["../x.m4s", "/etc/passwd", "http://a/b.m4s", "a/b/c.m4s", "a/.m4s", "x.m4s"])
def test_a_playlist_leads_nowhere_else(name: str) -> None:
    text = f'#EXTM3U\n#EXT-X-MAP:URI="a/init-1.mp4"\n#EXTINF:1.000000,\n{name}\n'
    with pytest.raises(InvalidInput):
        read_recording_playlist(text)
