"""When a recording ends and as what, who goes on with it, and which part of it a range of the clock needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.registry import Span
from touchline.kernel import ArtifactHash, InvalidInput, epoch_ms
from touchline.serve.clips.live import ClipSource, SourceKind, best_source
from touchline.serve.dvr import rules
from touchline.serve.dvr.rules import Attempt, EndCode, LivePlace, Progress, Segment, Verdict

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
SILENCE = timedelta(minutes=1)
LIVE = LivePlace(NOW - timedelta(hours=1), "node-1")


def attempt(
    end: EndCode | None = None, *, silent: float = 0, segments: int = 3, node: str = "node-1", number: int = 1
) -> Attempt:
    reported = NOW - timedelta(seconds=silent)
    ended = reported if end else None
    return Attempt(UUID(int=number), node, NOW - timedelta(hours=1), reported, ended, end, end and str(end), segments)


def progress(
    *attempts: Attempt,
    status: ArtifactStatus = ArtifactStatus.RECORDING,
    live: LivePlace | None = LIVE,
    age: float = 3600,
) -> Progress:
    return Progress(status, NOW - timedelta(seconds=age), attempts, live)


STOPPING = ArtifactStatus.STOPPING


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (progress(attempt()), Verdict.GOES_ON),
        (progress(attempt(silent=59)), Verdict.GOES_ON),
        (progress(attempt(silent=60)), Verdict.ENDED),
        (progress(attempt(silent=60), live=None), Verdict.ENDED),
        (progress(attempt(silent=60, segments=0)), Verdict.FAILED),
        (progress(attempt(), live=None), Verdict.GOES_ON),  # its node waits for the publisher
        (progress(attempt(EndCode.PUBLISHER_GONE), live=None), Verdict.ENDED),
        (progress(attempt(EndCode.STOPPED)), Verdict.ENDED),
        (progress(attempt(EndCode.STORAGE_FULL)), Verdict.ENDED),
        (progress(attempt(EndCode.NODE_RESTARTED)), Verdict.GOES_ON),
        (progress(attempt(EndCode.NODE_RESTARTED), live=None), Verdict.GOES_ON),
        (progress(attempt(EndCode.NODE_RESTARTED, silent=60), live=None), Verdict.ENDED),
        (progress(attempt(EndCode.REFUSED, segments=0)), Verdict.GOES_ON),
        (progress(attempt(EndCode.REFUSED, segments=0, silent=60), live=None), Verdict.FAILED),
        (progress(status=ArtifactStatus.STARTING, age=59), Verdict.GOES_ON),
        (progress(status=ArtifactStatus.STARTING, age=60), Verdict.FAILED),
        (progress(status=STOPPING), Verdict.FAILED),
        (progress(attempt(), status=STOPPING), Verdict.GOES_ON),  # what it has is still on its way
        (progress(attempt(silent=60), status=STOPPING), Verdict.ENDED),
        (progress(attempt(EndCode.STOPPED), status=STOPPING), Verdict.ENDED),
        (progress(attempt(silent=300), attempt(number=2, node="node-2")), Verdict.GOES_ON),
        (progress(attempt(), attempt(EndCode.PUBLISHER_GONE, number=2), live=None), Verdict.GOES_ON),
        (progress(attempt(silent=300), attempt(EndCode.PUBLISHER_GONE, number=2), live=None), Verdict.ENDED),
    ],
)
def test_when_a_recording_ends(state: Progress, verdict: Verdict) -> None:
    assert rules.decide(state, NOW, SILENCE) is verdict


@pytest.mark.parametrize(
    ("state", "wanted"),
    [
        (progress(), True),
        (progress(live=None), False),
        (progress(status=STOPPING), False),
        (progress(attempt()), False),
        (progress(attempt(node="node-2")), True),
        (progress(attempt(silent=60)), True),
        (progress(attempt(EndCode.NODE_RESTARTED)), True),
        (progress(attempt(EndCode.REFUSED, segments=0)), True),
        (progress(attempt(EndCode.STORAGE_FULL)), False),
        (progress(attempt(EndCode.STOPPED)), False),
    ],
)
def test_which_node_goes_on(state: Progress, wanted: bool) -> None:
    assert (rules.wants_node(state, NOW, SILENCE) == LIVE) is wanted


ATTEMPTS = st.lists(
    st.builds(
        attempt,
        st.sampled_from([None, *EndCode]),
        silent=st.floats(0, 200),
        segments=st.integers(0, 2),
        node=st.sampled_from(["node-1", "node-2"]),
    ),
    max_size=4,
)
STATES = st.builds(
    lambda attempts, status, live, age: progress(*attempts, status=status, live=live, age=age),
    ATTEMPTS,
    st.sampled_from([ArtifactStatus.STARTING, ArtifactStatus.RECORDING, STOPPING]),
    st.sampled_from([None, LIVE]),
    st.floats(0, 200),
)


@given(STATES)
def test_every_recording_ends(state: Progress) -> None:
    """Whatever it is in, when nobody says anything any more; and never while a node records."""
    later = NOW + SILENCE + timedelta(seconds=1)
    assert rules.decide(replace(state, live=None), later, SILENCE) is not Verdict.GOES_ON
    if any(one.is_active(NOW, SILENCE) for one in state.attempts):
        assert rules.decide(state, NOW, SILENCE) is Verdict.GOES_ON
    has_media = any(one.segments for one in state.attempts)
    assert (rules.decide(state, NOW, SILENCE) is Verdict.FAILED) <= (not has_media)


@given(STATES)
def test_one_node_at_a_time_is_asked(state: Progress) -> None:
    if rules.wants_node(state, NOW, SILENCE):
        here = [one for one in state.attempts if one.node_id == LIVE.node_id]
        assert not any(one.is_active(NOW, SILENCE) for one in here)
        assert rules.decide(state, NOW, SILENCE) is not Verdict.GOES_ON or state.live is not None


@pytest.mark.parametrize(
    ("attempts", "code"),
    [
        ([attempt(EndCode.PUBLISHER_GONE)], None),
        ([attempt(EndCode.STOPPED), attempt(EndCode.REFUSED, segments=0)], None),
        ([attempt()], "node_lost"),
        ([attempt(EndCode.NODE_RESTARTED), attempt(EndCode.STOPPED)], "node_restarted"),
        ([attempt(EndCode.STORAGE_FULL)], "storage_full"),
    ],
)
def test_what_is_missing_is_said(attempts: Sequence[Attempt], code: str | None) -> None:
    reason = rules.why_partial(attempts)
    assert (reason and reason.code) == code


# --- Its segments.


def segments(*starts_s: float, seconds: float = 2, breaks: Sequence[int] = ()) -> list[Segment]:
    return [
        Segment(UUID(int=1), number, 1, NOW + timedelta(seconds=start), round(seconds * 1e6), 10, number in breaks)
        for number, start in enumerate(starts_s, 1)
    ]


def span(start_s: float, end_s: float) -> Span:
    return Span(epoch_ms(NOW) + round(start_s * 1000), epoch_ms(NOW) + round(end_s * 1000))


def test_a_manifest_begins_anew_where_something_is_missing() -> None:
    second = [replace(one, attempt=UUID(int=2)) for one in segments(20, 22)]
    text = rules.manifest([*segments(0, 2, 9, breaks=[3]), *second], is_complete=True)
    assert text.count("#EXT-X-DISCONTINUITY\n") == 2
    assert text.count("#EXT-X-PROGRAM-DATE-TIME:") == 3
    assert text.count("#EXT-X-MAP:") == 2
    assert "#EXT-X-PROGRAM-DATE-TIME:2026-03-31T12:00:09.000000Z" in text
    assert f"{UUID(int=2)}/00000001.m4s" in text


@pytest.mark.parametrize(
    ("wanted", "shown", "media"),
    [
        (span(0, 4), span(0, 4), Span(0, 4000)),
        (span(-5, 1), span(0, 1), Span(0, 1000)),
        (span(1, 11), span(1, 11), Span(1000, 5000)),  # over the break
        (span(5, 11), span(10, 11), Span(4000, 5000)),
        (span(11, 99), span(11, 14), Span(5000, 8000)),
        (span(4, 10), None, None),
        (span(20, 30), None, None),
    ],
)
def test_what_a_recording_has_of_a_range(wanted: Span, shown: Span | None, media: Span | None) -> None:
    found = rules.covered(segments(0, 2, 10, 12, breaks=[3]), wanted)
    assert (found and found.shown, found and found.media) == (shown, media)


@given(
    st.lists(st.tuples(st.integers(1, 5000), st.integers(0, 3000)), min_size=1, max_size=12),
    st.integers(0, 30_000),
    st.integers(1, 30_000),
)
def test_the_clock_and_the_media_time_agree(parts: list[tuple[int, int]], start: int, length: int) -> None:
    listed, at = list[Segment](), 0
    for number, (duration, gap) in enumerate(parts, 1):
        starts_at = NOW + timedelta(milliseconds=at)
        listed.append(Segment(UUID(int=1), number, 1, starts_at, duration * 1000, 10, gap > 0))
        at += duration + gap
    found = rules.covered(listed, Span(epoch_ms(NOW) + start, epoch_ms(NOW) + start + length))
    if found is None:
        return
    assert rules.wall_clock(listed, found.media) == found.shown
    assert 0 < found.covered_ms <= found.shown.end_ms - found.shown.start_ms
    assert found.media.end_ms - found.media.start_ms == found.covered_ms


@given(st.integers(0, 10), st.lists(st.integers(1, 12), unique=True, max_size=12))
def test_a_report_is_listed_once_and_without_gaps(through: int, numbers: list[int]) -> None:
    reported = [replace(segments(0)[0], sequence=number) for number in numbers]
    new = sorted(number for number in numbers if number > through)
    if new == list(range(through + 1, through + 1 + len(new))):
        assert [one.sequence for one in rules.checked_segments(reported, through)] == new
    else:
        with pytest.raises(InvalidInput):
            rules.checked_segments(reported, through)


@pytest.mark.parametrize("wrong", [{"size_bytes": 0}, {"duration_us": 0}, {"init": 0}, {"duration_us": 2**50}])
def test_what_cannot_be_a_segment_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        rules.checked_segments([replace(segments(0)[0], **wrong)], 0)  # pyright: ignore[reportArgumentType]


@given(st.integers(1, 5000))
def test_a_long_playlist_grows_in_steps(count: int) -> None:
    written = [number for number in range(1, count + 1) if rules.is_time_to_list(number, 1)]
    assert len(written) <= 2 * rules.SHORT * (count // rules.SHORT + 1).bit_length()
    assert written[: min(count, rules.SHORT - 1)] == list(range(1, min(count, rules.SHORT - 1) + 1))


# --- Which source a clip is cut from.


def source(kind: SourceKind, *starts_s: float) -> ClipSource:
    return ClipSource(kind, ArtifactHash(f"{kind:032x}"), segments=segments(*starts_s))


WINDOW = ClipSource(SourceKind.WINDOW, ArtifactHash("f" * 32), span(10, 20))


@pytest.mark.parametrize(
    ("wanted", "kind"),
    [
        (span(12, 16), SourceKind.WINDOW),
        (span(8, 14), SourceKind.GOING_ON),
        (span(0, 4), SourceKind.FINISHED),
        (span(18, 30), SourceKind.WINDOW),
        (span(4, 9), SourceKind.GOING_ON),
        (span(40, 50), None),
    ],
)
def test_the_source_that_has_most_of_it(wanted: Span, kind: SourceKind | None) -> None:
    sources = [source(SourceKind.FINISHED, 0, 2), WINDOW, source(SourceKind.GOING_ON, 6, 8, 10, 12)]
    best = best_source(sources, wanted)
    assert (best and best.kind) == kind


def test_a_gap_is_not_counted_as_covered() -> None:
    with_gap, short = source(SourceKind.GOING_ON, 0, 8), source(SourceKind.FINISHED, 2, 4, 6)
    best = best_source([with_gap, short], span(0, 10))
    assert best
    assert best.kind is SourceKind.FINISHED


STRETCHES = st.tuples(st.integers(0, 500), st.integers(1, 500)).map(lambda pair: Span(pair[0], pair[0] + pair[1]))


@given(STRETCHES, st.lists(STRETCHES, max_size=5))
def test_no_other_source_has_more_of_it(wanted: Span, windows: list[Span]) -> None:
    sources = [ClipSource(SourceKind.WINDOW, ArtifactHash("f" * 32), window) for window in windows]
    best = best_source(sources, wanted)
    most = max((one.covered_ms(wanted) for one in sources), default=0)
    assert (best.covered_ms(wanted) if best else 0) == most
    shown = best and best.shown(wanted)
    if shown:
        assert wanted.start_ms <= shown.start_ms < shown.end_ms <= wanted.end_ms
