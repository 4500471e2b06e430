"""The playlists of live streams: a table that a person can check, then what holds for any window."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput
from touchline.serve.live.playlists import (
    FileName,
    Part,
    Reload,
    Segment,
    Variant,
    WindowView,
    file_of,
    is_there,
    live_playlist,
    master_playlist,
    parse_reload,
    round_up,
)

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
HALF = timedelta(milliseconds=500)


def segment(
    sequence: int, parts: int = 4, *, closed: bool = True, init: int = 1, follows_break: bool = False
) -> Segment:
    starts_at = NOON + (sequence - 10) * 4 * HALF
    made = [Part(number * 100, 100, HALF, number == 0) for number in range(parts)]
    return Segment(sequence, init, starts_at, follows_break, made, closed)


def view(*segments: Segment, ended: bool = False, breaks_before: int = 0) -> WindowView:
    return WindowView(list(segments), timedelta(seconds=2), HALF, breaks_before, ended)


def test_a_playlist_of_two_segments_and_one_that_is_open() -> None:
    text = live_playlist(
        view(segment(10), segment(11, init=2, follows_break=True), segment(12, 1, closed=False, init=2))
    )
    assert text == (
        "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n#EXT-X-INDEPENDENT-SEGMENTS\n"
        "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.0,PART-HOLD-BACK=1.500,HOLD-BACK=6.0\n"
        "#EXT-X-PART-INF:PART-TARGET=0.500\n#EXT-X-MEDIA-SEQUENCE:10\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"
        '#EXT-X-MAP:URI="init_1.mp4"\n'
        "#EXT-X-PROGRAM-DATE-TIME:2026-03-31T12:00:00.000Z\n"
        '#EXT-X-PART:DURATION=0.500000,URI="part_10_0.m4s",INDEPENDENT=YES\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_10_1.m4s"\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_10_2.m4s"\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_10_3.m4s"\n'
        "#EXTINF:2.000000,\nsegment_10.m4s\n"
        "#EXT-X-DISCONTINUITY\n"
        '#EXT-X-MAP:URI="init_2.mp4"\n'
        "#EXT-X-PROGRAM-DATE-TIME:2026-03-31T12:00:02.000Z\n"
        '#EXT-X-PART:DURATION=0.500000,URI="part_11_0.m4s",INDEPENDENT=YES\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_11_1.m4s"\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_11_2.m4s"\n'
        '#EXT-X-PART:DURATION=0.500000,URI="part_11_3.m4s"\n'
        "#EXTINF:2.000000,\nsegment_11.m4s\n"
        "#EXT-X-PROGRAM-DATE-TIME:2026-03-31T12:00:04.000Z\n"
        '#EXT-X-PART:DURATION=0.500000,URI="part_12_0.m4s",INDEPENDENT=YES\n'
        '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="part_12_1.m4s"\n'
    )


def test_a_stream_that_has_ended_says_so() -> None:
    text = live_playlist(view(segment(10), ended=True))
    assert text.endswith("segment_10.m4s\n#EXT-X-ENDLIST\n")
    assert "PRELOAD-HINT" not in text


def test_a_delta_update_leaves_out_what_is_older_than_six_targets() -> None:
    whole = view(*(segment(number) for number in range(10, 30)))
    text = live_playlist(whole, skip=True)
    assert "#EXT-X-SKIP:SKIPPED-SEGMENTS=13\n" in text
    assert re.findall(r"^segment_(\d+)", text, re.MULTILINE) == [str(number) for number in range(23, 30)]
    assert "SKIP:" not in live_playlist(view(segment(10), segment(11)), skip=True)


def test_the_master_playlist() -> None:
    text = master_playlist(Variant(1280, 720, "avc1.64001f,mp4a.40.2", 3_000_000, 25.0))
    assert 'BANDWIDTH=3000000,CODECS="avc1.64001f,mp4a.40.2",RESOLUTION=1280x720,FRAME-RATE=25.000\nlive.m3u8' in text


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("init_3.mp4", FileName("init", 3)),
        ("segment_12.m4s", FileName("segment", 12)),
        ("part_12_3.m4s", FileName("part", 12, 3)),
        ("part_12.m4s", None),
        ("segment_12_1.m4s", None),
        ("segment_12.mp4", None),
        ("init_3.m4s", None),
        ("segment_-1.m4s", None),
        ("segment_1234567890123456.m4s", None),
        ("../segment_1.m4s", None),
        ("segment_\u0661.m4s", None),
    ],
)
def test_which_file_a_name_means(name: str, found: FileName | None) -> None:
    assert file_of(name) == found


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (Reload(), True),
        (Reload(11), True),
        (Reload(12), False),
        (Reload(12, 0), True),
        (Reload(12, 1), False),
        (Reload(13, 0), False),
        (Reload(14), False),
    ],
)
def test_what_a_player_waits_for(wanted: Reload, there: bool) -> None:
    window = view(segment(10), segment(11), segment(12, 1, closed=False))
    assert is_there(window, wanted) is there
    assert is_there(view(*window.segments, ended=True), wanted)


def test_nobody_waits_for_what_is_far_ahead() -> None:
    with pytest.raises(InvalidInput, match="too far ahead"):
        is_there(view(segment(10), segment(11)), Reload(15))


@pytest.mark.parametrize("query", [{"_HLS_msn": ["x"]}, {"_HLS_part": ["1"]}, {"_HLS_msn": ["1"], "_HLS_part": ["-1"]}])
def test_a_query_that_the_protocol_does_not_know(query: dict[str, list[str]]) -> None:
    with pytest.raises(InvalidInput):
        parse_reload(query)


parts = st.lists(st.integers(10, 700).map(lambda each: timedelta(milliseconds=each)), min_size=1, max_size=6)
shapes = st.lists(st.tuples(parts, st.booleans()), min_size=1, max_size=40)


@given(shapes, st.integers(0, 10**9), st.booleans())
def test_any_window_keeps_what_the_protocol_promises(
    shape: list[tuple[list[timedelta], bool]], first: int, is_open: bool
) -> None:
    segments: list[Segment] = []
    starts_at = NOON
    for number, (durations, follows_break) in enumerate(shape):
        made = [Part(index, 1, duration, index == 0) for index, duration in enumerate(durations)]
        segments.append(Segment(first + number, 1, starts_at, follows_break and number > 0, made, is_closed=True))
        starts_at = segments[-1].ends_at
    segments[-1].is_closed = not is_open
    longest = max([timedelta(seconds=2), *(each.duration for each in segments)])
    part_target = max([HALF, *(part.duration for each in segments for part in each.parts)])
    window = WindowView(segments, longest, part_target, 0, has_ended=False)
    text, delta = live_playlist(window), live_playlist(window, skip=True)
    target = round_up(longest)
    assert all(round(float(found)) <= target for found in re.findall(r"#EXTINF:([0-9.]+)", text))
    assert all(float(found) <= part_target.total_seconds() for found in re.findall(r"PART:DURATION=([0-9.]+)", text))
    closed = [f"segment_{each.sequence}.m4s" for each in segments if each.is_closed]
    assert re.findall(r"^segment_\d+\.m4s$", text, re.MULTILINE) == closed
    skipped = int(found[1]) if (found := re.search(r"SKIPPED-SEGMENTS=(\d+)", delta)) else 0
    assert re.findall(r"^segment_\d+\.m4s$", delta, re.MULTILINE) == closed[skipped:]
    seen = sum((each.duration for each in segments[skipped:]), timedelta())
    assert not skipped or seen >= timedelta(seconds=6 * target) - segments[skipped].duration
