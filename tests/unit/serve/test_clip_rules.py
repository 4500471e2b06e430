from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import NewClip, Span
from touchline.contracts.settings import ByteSize
from touchline.kernel.errors import InvalidInput, NotFound, QuotaExceeded
from touchline.kernel.ids import ArtifactHash, new_artifact_hash
from touchline.serve.clips import rules
from touchline.serve.registry.rules import Usage
from touchline.serve.settings import ServeSettings

from .test_rules import ARTIFACT

MINUTE_MS = 60_000
SETTINGS = ServeSettings(
    longest_clip=timedelta(seconds=30), concurrent_clips=2, stored_quota=ByteSize(1000), clip_padding=timedelta(0, 2)
)
NEW = NewClip(new_artifact_hash(), 10_000, 12_000)
milliseconds = st.integers(0, 10**9)


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
    ("case", "start_ms", "end_ms", "field"),
    [
        ("before the video", -1, 1000, "start_ms"),
        ("no time at all", 1000, 1000, "end_ms"),
        ("backwards", 2000, 1000, "end_ms"),
        ("begins where the video ends", MINUTE_MS, MINUTE_MS + 1, "start_ms"),
        ("ends behind the video", 50_000, MINUTE_MS + rules.BEYOND_MS + 1, "end_ms"),
        ("too long", 0, 30_001, "end_ms"),
    ],
)
def test_ranges_that_make_no_clip(case: str, start_ms: int, end_ms: int, field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        rules.valid_span(Span(start_ms, end_ms), MINUTE_MS, SETTINGS.longest_clip)
    assert raised.value.field == field, case


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "expected"),
    [
        (0, 1, Span(0, 1)),
        (0, 30_000, Span(0, 30_000)),
        (59_999, MINUTE_MS, Span(59_999, MINUTE_MS)),
        (50_000, MINUTE_MS + rules.BEYOND_MS, Span(50_000, MINUTE_MS)),  # sound may outlast the pictures
        (31_000, MINUTE_MS + 999, Span(31_000, MINUTE_MS)),
    ],
)
def test_ranges_at_the_edges(start_ms: int, end_ms: int, expected: Span) -> None:
    assert rules.valid_span(Span(start_ms, end_ms), MINUTE_MS, SETTINGS.longest_clip) == expected


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
    clip = replace(NEW, start_ms=span.start_ms, end_ms=span.end_ms, padding_ms=padding_ms)
    assert rules.shown(clip, MINUTE_MS) == expected


@given(milliseconds, milliseconds, st.integers(0, 30_000), st.integers(1, 10**9))
@example(0, 1, 0, 1)
def test_a_clip_shows_its_range_and_nothing_beyond_the_video(
    start_ms: int, end_ms: int, padding_ms: int, duration_ms: int
) -> None:
    try:
        new = rules.checked(
            replace(NEW, start_ms=start_ms, end_ms=end_ms, padding_ms=padding_ms), duration_ms, "x", SETTINGS
        )
    except InvalidInput:
        return
    shown = rules.shown(new, duration_ms)
    assert 0 <= shown.start_ms <= new.start_ms < new.end_ms <= shown.end_ms <= duration_ms
    assert new.start_ms - shown.start_ms <= padding_ms
    assert shown.end_ms - new.end_ms <= padding_ms


def test_without_words_a_clip_is_named_after_its_video() -> None:
    new = rules.checked(NEW, MINUTE_MS, "The final", SETTINGS)
    assert (new.title, new.padding_ms) == ("The final 0:10-0:12", 2000)
    long = rules.checked(NEW, MINUTE_MS, "x" * 255, SETTINGS)
    assert len(long.title) == 255
    assert long.title.endswith(" 0:10-0:12")
    hours = rules.checked(replace(NEW, start_ms=3_661_005, end_ms=3_662_000), 10**8, "x", SETTINGS)
    assert hours.title == "x 1:01:01.005-1:01:02"


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
        rules.checked(replace(NEW, **change), MINUTE_MS, "x", SETTINGS)  # pyright: ignore[reportArgumentType]
    assert raised.value.field == field


def test_only_what_plays_has_clips() -> None:
    ready = replace(ARTIFACT, status=ArtifactStatus.READY, duration_ms=MINUTE_MS)
    assert rules.playable(ready, ready.artifact_hash) == (ready, MINUTE_MS)
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
