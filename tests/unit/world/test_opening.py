"""Where a day comes to lie on the wall."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.world import FIXTURE, day_of
from touchline.kernel.clock import ManualClock
from touchline.world.opening import Plan, lay_on_wall

NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize("speed", [0.5, 1, 20])
def test_the_first_match_kicks_off_when_it_is_told_to(speed: float) -> None:
    plan = Plan(day_of([]), Path(), speed, starts_in=timedelta(minutes=2))
    clock = lay_on_wall(plan, ManualClock(NOW))
    assert clock.at(FIXTURE.kick_off_ms) == NOW + timedelta(minutes=2)
    clock = lay_on_wall(plan, ManualClock(NOW + timedelta(minutes=2)))
    assert clock.day_ms() < FIXTURE.kick_off_ms


@pytest.mark.parametrize("moment", [datetime(2026, 11, 15, 12, 0), datetime.fromisoformat("2026-11-15T13:00:00+01:00")])  # noqa: DTZ001
def test_a_fixed_moment_wins_and_is_utc_unless_it_says_otherwise(moment: datetime) -> None:
    clock = lay_on_wall(Plan(day_of([]), Path(), 4, starts_at=moment), ManualClock(NOW))
    assert clock.at(FIXTURE.kick_off_ms) == datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
