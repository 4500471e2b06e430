from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, strategies as st

from touchline.media import rules
from touchline.media.model import (
    AudioTrack,
    ContainerFormat,
    Index,
    Light,
    PackagingPlan,
    PlayVerdict,
    Ratio,
    VideoTrack,
)

VIDEO = VideoTrack(
    index=0,
    codec="h264",
    profile="High",
    pixel_format="yuv420p",
    width=1920,
    height=1080,
    rotation=0,
    sample_aspect=Ratio(1, 1),
    frame_rate=Ratio(25, 1),
    keyframe_gap_ms=2000,
)
AUDIO = AudioTrack(index=1, codec="aac", profile="LC", channels=2, sample_rate_hz=48_000)
GAP_MS = 20_000
LENGTH = st.integers(2, 10_000)


@pytest.mark.parametrize(
    ("kind", "video", "audio", "expected"),
    [
        (ContainerFormat.MP4, VIDEO, AUDIO, PackagingPlan(None, None)),
        (ContainerFormat.MP4, VIDEO, None, PackagingPlan(None, None)),
        (ContainerFormat.MATROSKA, replace(VIDEO, pixel_format="yuvj420p"), AUDIO, PackagingPlan(None, None)),
        (ContainerFormat.MP4, replace(VIDEO, keyframe_gap_ms=None), AUDIO, PackagingPlan(None, None)),
        (ContainerFormat.MP4, replace(VIDEO, keyframe_gap_ms=GAP_MS), AUDIO, PackagingPlan(None, None)),
        (ContainerFormat.MP4, VIDEO, replace(AUDIO, profile="HE-AACv2"), PackagingPlan(None, None)),
        (ContainerFormat.MP4, replace(VIDEO, codec="hevc"), AUDIO, PackagingPlan("the video codec is hevc", None)),
        (
            ContainerFormat.MP4,
            replace(VIDEO, pixel_format="yuv422p"),
            AUDIO,
            PackagingPlan("the pixel format is yuv422p", None),
        ),
        (
            ContainerFormat.MP4,
            replace(VIDEO, keyframe_gap_ms=30_500),
            AUDIO,
            PackagingPlan("there are 30.5 s between keyframes", None),
        ),
        (
            ContainerFormat.MP4,
            replace(VIDEO, is_interlaced=True),
            AUDIO,
            PackagingPlan("the video is interlaced", None),
        ),
        (
            ContainerFormat.MP4,
            replace(VIDEO, light=Light.HLG),
            AUDIO,
            PackagingPlan("the video is HDR (hlg)", None),
        ),
        (ContainerFormat.MP4, replace(VIDEO, has_variable_rate=True), AUDIO, PackagingPlan(None, None)),
        (
            ContainerFormat.MP4,
            replace(VIDEO, has_hidden_start=True),
            AUDIO,
            PackagingPlan(rules.CUT_OFF, rules.CUT_OFF),
        ),
        (ContainerFormat.MP4, replace(VIDEO, has_hidden_start=True), None, PackagingPlan(rules.CUT_OFF, None)),
        (ContainerFormat.MP4, VIDEO, replace(AUDIO, codec="ac3"), PackagingPlan(None, "the audio codec is ac3")),
        (
            ContainerFormat.MP4,
            VIDEO,
            replace(AUDIO, profile="xHE-AAC"),
            PackagingPlan(None, "the AAC profile is xHE-AAC"),
        ),
        (ContainerFormat.MP4, VIDEO, replace(AUDIO, profile=None), PackagingPlan(None, "the AAC profile is unknown")),
    ],
)
def test_a_stream_is_copied_unless_something_speaks_against_it(
    kind: ContainerFormat, video: VideoTrack, audio: AudioTrack | None, expected: PackagingPlan
) -> None:
    assert rules.plan(kind, video, audio, GAP_MS) == expected


@pytest.mark.parametrize("kind", sorted(set(ContainerFormat) - rules.COPYABLE))
def test_pictures_of_a_container_without_their_times_are_encoded(kind: ContainerFormat) -> None:
    assert rules.plan(kind, VIDEO, AUDIO, GAP_MS).encode_video


@pytest.mark.parametrize(
    ("kind", "plan", "verdict", "reason"),
    [
        (
            ContainerFormat.MP4,
            PackagingPlan(None, None),
            PlayVerdict.PLAYS,
            "browsers play its streams and its container",
        ),
        (
            ContainerFormat.WEBM,
            PackagingPlan(None, None),
            PlayVerdict.REPACKAGE,
            "browsers play its streams, but not the container webm",
        ),
        (ContainerFormat.MP4, PackagingPlan("pictures", None), PlayVerdict.RE_ENCODE, "pictures"),
        (ContainerFormat.AVI, PackagingPlan("pictures", "sound"), PlayVerdict.RE_ENCODE, "pictures; sound"),
    ],
)
def test_the_verdict_has_a_reason(
    kind: ContainerFormat, plan: PackagingPlan, verdict: PlayVerdict, reason: str
) -> None:
    assert rules.judge(kind, plan) == (verdict, reason)


def test_a_broken_index_is_a_reason_to_repackage() -> None:
    assert rules.judge(ContainerFormat.MP4, PackagingPlan(None, None), Index.BROKEN)[0] is PlayVerdict.REPACKAGE
    assert rules.judge(ContainerFormat.MP4, PackagingPlan(None, None), Index.MISSING)[0] is PlayVerdict.PLAYS
    assert rules.judge(ContainerFormat.MP4, PackagingPlan("pictures", None), Index.BROKEN) == (
        PlayVerdict.RE_ENCODE,
        "pictures",
    )


MILLISECONDS_OF_29_97 = [round(number * 1001 / 30) for number in range(300)]


@pytest.mark.parametrize(
    ("times", "tick_s", "variable"),
    [
        ([], 0.001, False),
        ([0, 40, 300], 0.001, False),
        (list(range(0, 4000, 40)), 0.001, False),
        ([0, 120, 40, 80, 160, 280, 200, 240], 0.001, False),  # as they are decoded
        (MILLISECONDS_OF_29_97, 0.001, False),
        ([time for time in MILLISECONDS_OF_29_97 if time != 100], 0.001, False),
        ([0, 40, 80, 200, 240, 280, 400, 440, 480], 0.001, True),
        ([0, 512, 1024, 2560, 3072, 3584, 5120], 1 / 12800, True),
    ],
)
def test_whether_pictures_are_shown_equally_long(times: list[int], tick_s: float, variable: bool) -> None:
    assert rules.has_variable_rate(times, tick_s) is variable


@given(st.integers(1, 100_000), st.integers(0, 10**9), st.integers(5, 400), st.randoms())
def test_even_pictures_are_even_wherever_they_start(gap: int, start: int, count: int, chance: Random) -> None:
    times = [start + number * gap for number in range(count)]
    chance.shuffle(times)
    assert not rules.has_variable_rate(times, 1 / 90_000)


@pytest.mark.parametrize(
    ("video", "size"),
    [
        (VIDEO, (1920, 1080)),
        (replace(VIDEO, rotation=90), (1080, 1920)),
        (replace(VIDEO, rotation=180), (1920, 1080)),
        (replace(VIDEO, rotation=270), (1080, 1920)),
        (replace(VIDEO, width=720, height=576, sample_aspect=Ratio(16, 11)), (1047, 576)),
        (replace(VIDEO, width=1440, sample_aspect=Ratio(4, 3), rotation=90), (1080, 1920)),
        (replace(VIDEO, sample_aspect=Ratio(1, 65_535)), (1920, 1080)),
        (replace(VIDEO, sample_aspect=Ratio(65_535, 1)), (1920, 1080)),
    ],
)
def test_how_a_video_is_seen(video: VideoTrack, size: tuple[int, int]) -> None:
    assert rules.display_size(video) == size


@pytest.mark.parametrize(
    ("seen", "fitted"),
    [
        ((1920, 1080), (1920, 1080)),
        ((3840, 2160), (1920, 1080)),
        ((2160, 3840), (1080, 1920)),
        ((1047, 576), (1046, 576)),
        ((3840, 1600), (1920, 800)),
        ((1, 1), (2, 2)),
        ((10_000, 2), (1920, 2)),
    ],
)
def test_fitted_sizes(seen: tuple[int, int], fitted: tuple[int, int]) -> None:
    assert rules.fitted_size(*seen, rules.LARGEST_SIZE) == fitted


@given(LENGTH, LENGTH)
def test_a_fitted_size_is_even_not_enlarged_and_fits(width: int, height: int) -> None:
    fitted = rules.fitted_size(width, height, rules.LARGEST_SIZE)
    assert all(length % 2 == 0 and length >= 2 for length in fitted)
    assert fitted[0] <= width
    assert fitted[1] <= height
    assert max(fitted) <= 1920
    assert min(fitted) <= 1080


@given(st.integers(1, 10**9))
def test_posters_are_looked_for_inside_and_in_order(duration_ms: int) -> None:
    positions = rules.poster_positions(duration_ms)
    assert len(positions) == rules.POSTER_CANDIDATES
    assert positions == sorted(positions)
    assert 0 <= positions[0] <= positions[-1] < duration_ms


def test_what_makes_a_good_poster() -> None:
    good = rules.poster_score(mean=110, deviation=50, sharpness=300)
    assert good > rules.poster_score(mean=110, deviation=50, sharpness=30), "blurred"
    assert good > rules.poster_score(mean=110, deviation=15, sharpness=300), "pale"
    for nothing in (
        rules.poster_score(mean=10, deviation=50, sharpness=9000),
        rules.poster_score(mean=250, deviation=50, sharpness=9000),
        rules.poster_score(mean=110, deviation=3, sharpness=9000),
    ):
        assert rules.poster_score(mean=110, deviation=13, sharpness=1) > nothing


@pytest.mark.parametrize(
    ("scores", "good"),
    [
        ([], False),
        ([rules.VISIBLE] * 2, False),
        ([5.0, 7.0, 9.0], False),
        ([5.0, rules.VISIBLE + 7, 9.0], True),
    ],
)
def test_when_to_look_closer(scores: list[float], good: bool) -> None:
    assert rules.is_good_choice(scores) is good


def test_peaks_grow_with_the_picture() -> None:
    assert rules.most_bits_per_second(1920, 1080, 30) == 6_220_800
    assert rules.most_bits_per_second(64, 36, 1) == 200_000
    assert rules.most_bits_per_second(1920, 1080, 240) == rules.most_bits_per_second(1920, 1080, 60)


@pytest.mark.parametrize(
    ("seen", "sizes"),
    [
        ((3840, 2160), [(1920, 1080), (1280, 720), (852, 480), (640, 360)]),
        ((1280, 720), [(1280, 720), (852, 480), (640, 360)]),
        ((720, 1280), [(720, 1280), (480, 852), (360, 640)]),
        ((1024, 576), [(1024, 576), (640, 360)]),
        ((640, 360), [(640, 360)]),
        ((320, 180), [(320, 180)]),
        ((3840, 1600), [(1920, 800), (1280, 534), (854, 356), (640, 266)]),
        ((10_000, 2), [(1920, 2)]),
    ],
)
def test_ladders(seen: tuple[int, int], sizes: list[tuple[int, int]]) -> None:
    assert rules.ladder(*seen) == sizes


@given(LENGTH, LENGTH)
def test_a_ladder_goes_down_and_never_above_its_source(width: int, height: int) -> None:
    sizes = rules.ladder(width, height)
    assert all(size[0] <= width and size[1] <= height for size in sizes)
    for above, below in pairwise(sizes):
        assert below[0] < above[0]
        assert below[1] < above[1]
    names = [rules.rendition_name(*size) for size in sizes]
    assert len(set(names)) == len(names)
    passes = rules.passes(sizes)
    assert sorted(size for each in passes for size in each) == sorted(sizes)
    assert len(passes[0]) == 1


def test_people_begin_with_a_rendition_that_is_quickly_made() -> None:
    assert rules.passes(rules.ladder(1920, 1080)) == [[(852, 480)], [(1920, 1080), (1280, 720), (640, 360)]]
    assert rules.passes(rules.ladder(1024, 576)) == [[(640, 360)], [(1024, 576)]]
    assert rules.passes(rules.ladder(320, 180)) == [[(320, 180)]]


@pytest.mark.parametrize(
    ("threads", "shared"),
    [(1, [1, 1, 1]), (2, [2, 2, 2]), (8, [5, 2, 2]), (16, [10, 5, 2])],
)
def test_encoders_share_threads_by_their_pixels(threads: int, shared: list[int]) -> None:
    assert rules.encoder_threads([(1920, 1080), (1280, 720), (640, 360)], threads) == shared
