from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import InvalidInput, format_bytes, format_duration, is_plain, parse_duration

WHOLE_MILLISECONDS = st.integers(0, 10**14).map(lambda count: timedelta(milliseconds=count))


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("90s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("30d", timedelta(days=30)),
        (" 7 D ", timedelta(days=7)),
        ("0s", timedelta(0)),
    ],
)
def test_what_people_write(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


@pytest.mark.parametrize(
    "text", ["", "5", "s", "1.5h", "-5m", "5 minutes", "1h30m", "1e3s", "9" * 20 + "d", "9" * 5000 + "s"]
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_duration(text)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0ms"),
        (timedelta(milliseconds=1500), "1500ms"),
        (timedelta(seconds=90), "90s"),
        (timedelta(minutes=60), "1h"),
        (timedelta(hours=48), "2d"),
    ],
)
def test_the_largest_unit_that_fits(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(WHOLE_MILLISECONDS)
def test_what_is_written_reads_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInput):
        assert parse_duration(text) >= timedelta(0)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (9949, "9.9 kB"), (9950, "10 kB"),
        (999_499, "999 kB"), (999_500, "1.0 MB"), (50 * 1024**3, "54 GB"), (10**18, "1000 PB"),
    ],
)  # fmt: skip
def test_sizes_read_as_on_the_page(size_bytes: int, text: str) -> None:
    assert format_bytes(size_bytes) == text


@pytest.mark.parametrize(
    ("document", "plain"),
    [
        ({"a": ["text", 1, 1.5, None, True, {"ünï": "\U0001f600"}]}, True),
        (1e300, True),
        (10**4000, True),
        ("\ud800", False),
        ("a\0b", False),
        ({"a": [{"\udfff": 1}]}, False),
        ([[[float("nan")]]], False),
        ({"a": float("inf")}, False),
        ("", True),
    ],
)
def test_what_can_be_kept_and_written_again(document: object, plain: bool) -> None:
    assert is_plain(document) is plain


def test_depth_is_no_matter() -> None:
    document: list[object] = ["\ud800"]
    for _ in range(100_000):
        document = [document]
    assert not is_plain(document)
