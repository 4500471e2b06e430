"""Which bytes a request wants."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchline.world.social.cdn.ranges import Span, Unsatisfiable, Version, is_unchanged, still_applies, wanted_span

VERSION = Version('"abc"', datetime(2026, 3, 14, 13, 0, 0, 123_000, tzinfo=UTC))
SAME, LATER, EARLIER = (f"Sat, 14 Mar 2026 {time} GMT" for time in ("13:00:00", "13:00:01", "12:59:59"))


@pytest.mark.parametrize(
    ("header", "span"),
    [
        (None, None),
        ("", None),
        ("bytes=0-9", Span(0, 10)),
        ("bytes=90-", Span(90, 100)),
        ("bytes=-10", Span(90, 100)),
        ("bytes=-500", Span(0, 100)),
        ("bytes=50-500", Span(50, 100)),
        ("Bytes= 0-0 ", Span(0, 1)),
        ("bytes=-", None),
        ("bytes=9-3", None),  # not valid, and so ignored
        ("bytes=0-1,5-6", None),
        ("items=0-1", None),
        ("bytes=one-two", None),
    ],
)
def test_spans(header: str | None, span: Span | None) -> None:
    assert wanted_span(header, 100) == span


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=100-200", "bytes=-0"])
def test_beyond_the_end(header: str) -> None:
    with pytest.raises(Unsatisfiable):
        wanted_span(header, 100)


@given(st.text(max_size=40) | st.from_regex(r"bytes=[0-9]{0,19}-[0-9]{0,19}", fullmatch=True), st.integers(0, 10**12))
def test_a_span_lies_within_the_file(header: str, size: int) -> None:
    try:
        span = wanted_span(header, size)
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
