from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from hypothesis import example, given, strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import ClipMode, NewClip, Span
from touchline.contracts.settings import ByteSize
from touchline.kernel import ArtifactHash, InvalidInput, NotFound, QuotaExceeded, new_artifact_hash
from touchline.serve.clips import rules
from touchline.serve.clips.ranges import Timeline, upload_timeline
from touchline.serve.registry.rules import Usage
from touchline.serve.settings import ServeSettings

from .test_rules import ARTIFACT

MINUTE_MS = 60_000
SETTINGS = ServeSettings(
    longest_clip=timedelta(seconds=30), concurrent_clips=2, stored_quota=ByteSize(1000), clip_padding=timedelta(0, 2)
)
NEW = NewClip(new_artifact_hash(), 10_000, 12_000)
UPLOAD = upload_timeline(MINUTE_MS)
milliseconds = st.integers(0, 10**9)


def checked(request: NewClip, duration_ms: int, title: str) -> rules.CheckedClip:
    return rules.checked(request, new_artifact_hash(), upload_timeline(duration_ms), title, SETTINGS)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, 0),
        (1.5, 1500),
        (0.0004, 0),
        (0.0005, 1),
        (1.0005, 1001),  # although the float lies a little below
        (2.0015, 2002),
        (-0.0005, -1),
        (1e-300, 0),
        (59.9999, 60_000),
    ],
)
def test_seconds_become_the_nearest_millisecond(seconds: float, expected: int) -> None:
    assert rules.milliseconds(seconds, "start_seconds") == expected


@given(milliseconds)
def test_milliseconds_survive_the_way_through_seconds(time_ms: int) -> None:
    assert rules.milliseconds(time_ms / 1000, "start_seconds") == time_ms


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_the_order_of_times_stays(one: float, other: float) -> None:
    first, second = sorted((one, other))
    assert rules.milliseconds(first, "x") <= rules.milliseconds(second, "x")
    assert abs(rules.milliseconds(one, "x") - one * 1000) <= 0.5001


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -float("inf"), 1e10])
def test_what_is_no_time_names_its_field(seconds: float) -> None:
    with pytest.raises(InvalidInput) as raised:
        rules.milliseconds(seconds, "end_seconds")
    assert raised.value.field == "end_seconds"


@pytest.mark.parametrize(
    ("span", "padding_ms", "expected"),
    [
        (Span(10_000, 12_000), 0, Span(10_000, 12_000)),
        (Span(10_000, 12_000), 2000, Span(8000, 14_000)),
        (Span(1500, 3000), 2000, Span(0, 5000)),
        (Span(59_000, MINUTE_MS), 2000, Span(57_000, MINUTE_MS)),
        (Span(0, MINUTE_MS), 2000, Span(0, MINUTE_MS)),
    ],
)
def test_padding_ends_with_the_video(span: Span, padding_ms: int, expected: Span) -> None:
    assert rules.padded(span, padding_ms, UPLOAD) == expected


@given(milliseconds, milliseconds, st.integers(0, 30_000), st.integers(1, 10**9))
@example(0, 1, 0, 1)
def test_a_clip_shows_its_range_and_nothing_beyond_the_video(
    start_ms: int, end_ms: int, padding_ms: int, duration_ms: int
) -> None:
    try:
        new = checked(replace(NEW, start_ms=start_ms, end_ms=end_ms, padding_ms=padding_ms), duration_ms, "x")
    except InvalidInput:
        return
    requested, shown = new.requested, new.shown
    assert 0 <= shown.start_ms <= requested.start_ms < requested.end_ms <= shown.end_ms <= duration_ms
    assert requested.start_ms - shown.start_ms <= padding_ms
    assert shown.end_ms - requested.end_ms <= padding_ms


def test_without_words_a_clip_is_named_after_its_video() -> None:
    new = checked(NEW, MINUTE_MS, "The final")
    assert (new.title, new.padding_ms) == ("The final 0:10-0:12", 2000)
    long = checked(NEW, MINUTE_MS, "x" * 255)
    assert len(long.title) == 255
    assert long.title.endswith(" 0:10-0:12")
    hours = checked(replace(NEW, start_ms=3_661_005, end_ms=3_662_000), 10**8, "x")
    assert hours.title == "x 1:01:01.005-1:01:02"


def test_a_clip_longer_than_its_stream_so_far_is_named_from_the_streams_beginning() -> None:
    begun = 1_800_000_000_000
    timeline = Timeline("stream", begun, now_ms=begun + 10_000)
    request = NewClip(None, stream_id=uuid4(), mode=ClipMode.CLIP_NOW, duration_ms=30_000)
    named = rules.checked(request, new_artifact_hash(), timeline, "Derby", SETTINGS)
    assert named.title == "Derby 0:00-0:10"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": "x" * 256}, "title"),
        ({"title": "a\u202eb"}, "title"),
        ({"description": "x" * 2001}, "description"),
        ({"description": "a\x00b"}, "description"),
        ({"padding_ms": -1}, "padding_ms"),
        ({"padding_ms": 30_001}, "padding_ms"),
        ({"padding_ms": 2**63 - 1}, "padding_ms"),
    ],
)
def test_words_and_padding_that_cannot_be_used(change: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        checked(replace(NEW, **change), MINUTE_MS, "x")  # pyright: ignore[reportArgumentType]
    assert raised.value.field == field


def test_only_what_plays_has_clips() -> None:
    ready = replace(ARTIFACT, status=ArtifactStatus.READY, duration_ms=MINUTE_MS)
    assert rules.playable(ready, ready.artifact_hash) == rules.PlayableSource(ready.original_key, MINUTE_MS)
    for status in ArtifactStatus:
        if status in (ArtifactStatus.READY, ArtifactStatus.DELETED):
            continue
        with pytest.raises(InvalidInput):
            rules.playable(replace(ready, status=status), ready.artifact_hash)
    for nothing in (None, replace(ready, status=ArtifactStatus.DELETED)):
        with pytest.raises(NotFound):
            rules.playable(nothing, ArtifactHash("0" * 32))


def test_room_for_clips() -> None:
    rules.require_room(Usage(999, 100, 1), SETTINGS)
    for full in (Usage(0, 0, 2), Usage(1000, 0, 0)):
        with pytest.raises(QuotaExceeded):
            rules.require_room(full, SETTINGS)


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"a": "' + "x" * rules.LONGEST_PARAMETERS + '"}'])
def test_a_request_is_kept_as_a_document_of_bounded_size(text: str) -> None:
    with pytest.raises(InvalidInput):
        rules.valid_parameters(text)
    assert rules.valid_parameters('{"startSeconds": 1.5}') == {"startSeconds": 1.5}


@pytest.mark.parametrize("request_", [replace(NEW, source_hash=None), replace(NEW, stream_id=uuid4())])
def test_a_clip_has_one_source(request_: NewClip) -> None:
    with pytest.raises(InvalidInput) as raised:
        rules.require_source(request_)
    assert raised.value.field == "source_hash"
