"""Which part of a source each mode means: of uploads, of streams and of recordings."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from touchline.contracts.registry import ClipMode, NewClip, Span
from touchline.kernel import InvalidInput, epoch_ms, new_artifact_hash
from touchline.serve.clips.ranges import (
    BEYOND_MS,
    LATEST_MS,
    Timeline,
    recording_timeline,
    requested_range,
    stream_timeline,
    upload_timeline,
)

MINUTE_MS = 60_000
LONGEST = timedelta(seconds=30)
LIVE_SINCE = datetime(2026, 3, 31, 12, tzinfo=UTC)
SINCE_MS = epoch_ms(LIVE_SINCE)
NOW = LIVE_SINCE + timedelta(seconds=100)
NOW_MS = epoch_ms(NOW)
UPLOAD = upload_timeline(MINUTE_MS)
STREAM = stream_timeline(LIVE_SINCE, NOW)
NOT_LIVE = stream_timeline(None, NOW)
GOING_ON = recording_timeline(LIVE_SINCE, None, NOW)
FINISHED = recording_timeline(LIVE_SINCE, LIVE_SINCE + timedelta(minutes=1), NOW)
ABSOLUTE, RELATIVE, DURATION, CLIP_NOW = ClipMode
EVERY = (UPLOAD, STREAM, NOT_LIVE, GOING_ON, FINISHED)


def asked(mode: ClipMode, **times: Any) -> NewClip:
    return NewClip(new_artifact_hash(), mode=mode, **times)


@pytest.mark.parametrize(
    ("case", "mode", "times", "timeline", "expected"),
    [
        ("start and end alone", ABSOLUTE, {"start_ms": 1000, "end_ms": 3000}, UPLOAD, Span(1000, 3000)),
        ("a duration for the end", ABSOLUTE, {"start_ms": 1000, "duration_ms": 500}, UPLOAD, Span(1000, 1500)),
        ("an upload has one beginning", RELATIVE, {"start_ms": 1000, "end_ms": 3000}, UPLOAD, Span(1000, 3000)),
        ("relative by duration", RELATIVE, {"start_ms": 0, "duration_ms": 1}, UPLOAD, Span(0, 1)),
        ("the first millisecond", ABSOLUTE, {"start_ms": 0, "end_ms": 1}, UPLOAD, Span(0, 1)),
        ("as long as may be", ABSOLUTE, {"start_ms": 0, "end_ms": 30_000}, UPLOAD, Span(0, 30_000)),
        ("the last one", ABSOLUTE, {"start_ms": 59_999, "end_ms": MINUTE_MS}, UPLOAD, Span(59_999, MINUTE_MS)),
        (
            "sound outlasts the pictures",
            ABSOLUTE,
            {"start_ms": 50_000, "end_ms": MINUTE_MS + BEYOND_MS},
            UPLOAD,
            Span(50_000, MINUTE_MS),
        ),
        (
            "by duration, too",
            DURATION,
            {"start_ms": 31_000, "duration_ms": 29_999},
            UPLOAD,
            Span(31_000, MINUTE_MS),
        ),
        ("a start and a duration", DURATION, {"start_ms": 2000, "duration_ms": 500}, UPLOAD, Span(2000, 2500)),
        (
            "a stream by the clock",
            ABSOLUTE,
            {"start_ms": SINCE_MS + 1000, "end_ms": SINCE_MS + 3000},
            STREAM,
            Span(SINCE_MS + 1000, SINCE_MS + 3000),
        ),
        (
            "a stream from its start",
            RELATIVE,
            {"start_ms": 1000, "end_ms": 3000},
            STREAM,
            Span(SINCE_MS + 1000, SINCE_MS + 3000),
        ),
        (
            "relative by duration",
            RELATIVE,
            {"start_ms": 1000, "duration_ms": 3000},
            STREAM,
            Span(SINCE_MS + 1000, SINCE_MS + 4000),
        ),
        (
            "a duration by the clock",
            DURATION,
            {"start_ms": SINCE_MS + 5000, "duration_ms": 1000},
            STREAM,
            Span(SINCE_MS + 5000, SINCE_MS + 6000),
        ),
        ("the last part", CLIP_NOW, {"duration_ms": 20_000}, STREAM, Span(NOW_MS - 20_000, NOW_MS)),
        ("of what is being recorded", CLIP_NOW, {"duration_ms": 20_000}, GOING_ON, Span(NOW_MS - 20_000, NOW_MS)),
        (
            "by the clock although it is not live: it may have been recorded",
            ABSOLUTE,
            {"start_ms": SINCE_MS, "end_ms": SINCE_MS + 1},
            NOT_LIVE,
            Span(SINCE_MS, SINCE_MS + 1),
        ),
        (
            "an end that is still to come",
            ABSOLUTE,
            {"start_ms": NOW_MS - 1, "end_ms": NOW_MS + 5000},
            STREAM,
            Span(NOW_MS - 1, NOW_MS + 5000),
        ),
        (
            "a recording from its start",
            RELATIVE,
            {"start_ms": 59_000, "end_ms": 60_500},
            FINISHED,
            Span(SINCE_MS + 59_000, SINCE_MS + 60_000),
        ),
    ],
)
def test_what_a_request_means(
    case: str, mode: ClipMode, times: dict[str, int], timeline: Timeline, expected: Span
) -> None:
    assert requested_range(asked(mode, **times), timeline, LONGEST) == expected, case


@pytest.mark.parametrize(
    ("case", "mode", "times", "timeline", "field"),
    [
        ("before the video", ABSOLUTE, {"start_ms": -1, "end_ms": 1000}, UPLOAD, "start_ms"),
        ("no time at all", ABSOLUTE, {"start_ms": 1000, "end_ms": 1000}, UPLOAD, "end_ms"),
        ("backwards", ABSOLUTE, {"start_ms": 2000, "end_ms": 1000}, UPLOAD, "end_ms"),
        ("where the video ends", ABSOLUTE, {"start_ms": MINUTE_MS, "end_ms": MINUTE_MS + 1}, UPLOAD, "start_ms"),
        ("behind the video", ABSOLUTE, {"start_ms": 50_000, "end_ms": 61_001}, UPLOAD, "end_ms"),
        ("behind it by duration", DURATION, {"start_ms": 50_000, "duration_ms": 11_001}, UPLOAD, "duration_ms"),
        ("too long", ABSOLUTE, {"start_ms": 0, "end_ms": 30_001}, UPLOAD, "end_ms"),
        ("too long by duration", ABSOLUTE, {"start_ms": 0, "duration_ms": 30_001}, UPLOAD, "duration_ms"),
        ("no start", ABSOLUTE, {"end_ms": 1000}, UPLOAD, "start_ms"),
        ("no end", ABSOLUTE, {"start_ms": 0}, UPLOAD, "end_ms"),
        ("two ends", ABSOLUTE, {"start_ms": 0, "end_ms": 1000, "duration_ms": 1000}, UPLOAD, "duration_ms"),
        ("nothing", ABSOLUTE, {}, UPLOAD, "start_ms"),
        ("no duration", DURATION, {"start_ms": 0}, UPLOAD, "duration_ms"),
        ("a duration of nothing", DURATION, {"start_ms": 0, "duration_ms": 0}, UPLOAD, "duration_ms"),
        ("a negative one", RELATIVE, {"start_ms": 0, "duration_ms": -5}, UPLOAD, "duration_ms"),
        ("an end beside it", DURATION, {"start_ms": 0, "end_ms": 5, "duration_ms": 5}, UPLOAD, "end_ms"),
        ("no start of a duration", DURATION, {"duration_ms": 5}, UPLOAD, "start_ms"),
        ("an upload has no now", CLIP_NOW, {"duration_ms": 5}, UPLOAD, "mode"),
        ("nor has what has ended", CLIP_NOW, {"duration_ms": 5}, FINISHED, "mode"),
        ("now has no start", CLIP_NOW, {"start_ms": 0, "duration_ms": 5}, STREAM, "start_ms"),
        ("now is its end", CLIP_NOW, {"end_ms": 5, "duration_ms": 5}, STREAM, "end_ms"),
        ("now needs a duration", CLIP_NOW, {}, STREAM, "duration_ms"),
        ("the last part is too long", CLIP_NOW, {"duration_ms": 30_001}, STREAM, "duration_ms"),
        ("longer than there is time", CLIP_NOW, {"duration_ms": LATEST_MS}, STREAM, "duration_ms"),
        ("nothing has begun", RELATIVE, {"start_ms": 0, "end_ms": 5}, NOT_LIVE, "mode"),
        ("before the stream", RELATIVE, {"start_ms": -1, "end_ms": 5}, STREAM, "start_ms"),
        ("a future start", ABSOLUTE, {"start_ms": NOW_MS, "end_ms": NOW_MS + 1}, STREAM, "start_ms"),
        ("a future start by duration", DURATION, {"start_ms": NOW_MS + 9, "duration_ms": 1}, STREAM, "start_ms"),
        ("a relative future", RELATIVE, {"start_ms": 100_000, "end_ms": 100_001}, GOING_ON, "start_ms"),
        ("before 1970", ABSOLUTE, {"start_ms": -1, "end_ms": 1}, STREAM, "start_ms"),
        ("behind the recording", RELATIVE, {"start_ms": MINUTE_MS, "end_ms": MINUTE_MS + 1}, FINISHED, "start_ms"),
        ("far too much", ABSOLUTE, {"start_ms": 2**63 - 1, "end_ms": 2**63 - 1}, STREAM, "start_ms"),
        ("a huge end", ABSOLUTE, {"start_ms": 0, "end_ms": 2**63 - 1}, UPLOAD, "end_ms"),
        ("a huge duration", DURATION, {"start_ms": 0, "duration_ms": 2**63 - 1}, UPLOAD, "duration_ms"),
    ],
)
def test_what_makes_no_clip_names_the_field(
    case: str, mode: ClipMode, times: dict[str, int], timeline: Timeline, field: str
) -> None:
    with pytest.raises(InvalidInput) as raised:
        requested_range(asked(mode, **times), timeline, LONGEST)
    assert raised.value.field == field, case


near = st.integers(-10, 200_000) | st.integers(SINCE_MS - 10, NOW_MS + 50_000) | st.integers(-(2**63), 2**63 - 1)
times = st.none() | near


@given(st.sampled_from(ClipMode), times, times, times, st.sampled_from(EVERY))
@example(ClipMode.CLIP_NOW, None, None, 1, STREAM)
def test_every_request_is_a_range_within_the_rules_or_names_a_field(
    mode: ClipMode, start_ms: int | None, end_ms: int | None, duration_ms: int | None, timeline: Timeline
) -> None:
    request = replace(asked(mode), start_ms=start_ms, end_ms=end_ms, duration_ms=duration_ms)
    try:
        span = requested_range(request, timeline, LONGEST)
    except InvalidInput as error:
        refused = error
    else:
        refused = None
        assert 0 <= span.start_ms < span.end_ms
        assert span.end_ms - span.start_ms <= LONGEST / timedelta(milliseconds=1)
        assert timeline.ends_ms is None or span.end_ms <= timeline.ends_ms
        assert timeline.now_ms is None or span.start_ms < timeline.now_ms
    assert refused is None or refused.field in {"start_ms", "end_ms", "duration_ms", "mode"}


@given(st.integers(0, 99_999), st.integers(1, 30_000))
def test_the_modes_agree_about_a_stream(start_ms: int, duration_ms: int) -> None:
    at: dict[str, Any] = {"start_ms": SINCE_MS + start_ms}
    ways = [
        asked(ABSOLUTE, **at, end_ms=SINCE_MS + start_ms + duration_ms),
        asked(ABSOLUTE, **at, duration_ms=duration_ms),
        asked(DURATION, **at, duration_ms=duration_ms),
        asked(RELATIVE, start_ms=start_ms, end_ms=start_ms + duration_ms),
        asked(RELATIVE, start_ms=start_ms, duration_ms=duration_ms),
    ]
    assert len({requested_range(way, STREAM, LONGEST) for way in ways}) == 1
