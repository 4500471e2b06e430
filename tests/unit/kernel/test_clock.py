from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from touchline.kernel import ManualClock, SystemClock, epoch_ms

NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


def test_the_system_clock_is_aware_and_in_utc() -> None:
    assert SystemClock().now().tzinfo is UTC


def test_a_manual_clock_moves_only_when_told_to() -> None:
    clock = ManualClock(NOON)
    assert clock.now() == clock.now() == NOON
    assert clock.advance(timedelta(minutes=5)) == clock.now() == NOON + timedelta(minutes=5)


def test_a_manual_clock_needs_an_aware_start_and_turns_it_to_utc() -> None:
    with pytest.raises(ValueError, match="aware"):
        ManualClock(NOON.replace(tzinfo=None))
    assert ManualClock(NOON.astimezone(timezone(timedelta(hours=2)))).now().tzinfo is UTC


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1), timezones=ZONES)  # noqa: DTZ001
)
def test_milliseconds_are_whole_and_rounded_down(moment: datetime) -> None:
    rest = moment - datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=epoch_ms(moment))
    assert timedelta(0) <= rest < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("moment", "milliseconds"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1970, 1, 1, 0, 0, 0, 1999, tzinfo=UTC), 1),
        (NOON, 1_774_958_400_000),
    ],
)
def test_known_milliseconds(moment: datetime, milliseconds: int) -> None:
    assert epoch_ms(moment) == milliseconds
