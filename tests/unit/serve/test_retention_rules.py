from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from touchline.contracts.artifacts import ArtifactStatus
from touchline.kernel import InvalidInput
from touchline.serve.retention.rules import (
    EXPIRING,
    LONGEST,
    SHORTEST,
    RetentionSources,
    is_expired,
    keep_until,
    resolve_retention,
    valid_retention,
)

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("requested", "tenant", "resolved"),
    [
        (None, None, 30 * DAY),
        (None, 7 * DAY, 7 * DAY),
        (2 * DAY, None, 2 * DAY),
        (2 * DAY, 7 * DAY, 2 * DAY),
        (90 * DAY, 7 * DAY, 90 * DAY),
    ],
)
def test_the_request_wins_then_the_tenant_then_the_default(
    requested: timedelta | None, tenant: timedelta | None, resolved: timedelta
) -> None:
    sources = RetentionSources(30 * DAY, requested, tenant)
    assert resolve_retention(sources) == resolved
    assert keep_until(NOW, sources) == NOW + resolved


@pytest.mark.parametrize("wanted", [timedelta(0), -DAY, SHORTEST - timedelta(microseconds=1), LONGEST + DAY])
def test_a_retention_that_makes_no_sense_names_the_field(wanted: timedelta) -> None:
    with pytest.raises(InvalidInput) as raised:
        valid_retention(wanted)
    assert raised.value.field == "retention_seconds"


def test_no_opinion_and_sensible_ones_pass() -> None:
    assert [valid_retention(wanted) for wanted in (None, SHORTEST, LONGEST)] == [None, SHORTEST, LONGEST]


@pytest.mark.parametrize(
    ("case", "status", "until", "pinned", "expired"),
    [
        ("past its time", ArtifactStatus.READY, NOW - DAY, False, True),
        ("at its time", ArtifactStatus.READY, NOW, False, True),
        ("before its time", ArtifactStatus.READY, NOW + DAY, False, False),
        ("failed ones too", ArtifactStatus.FAILED, NOW - DAY, False, True),
        ("pinned ones never", ArtifactStatus.READY, NOW - DAY, True, False),
        ("an upload that is being sent never", ArtifactStatus.UPLOADING, NOW - DAY, False, False),
        ("nor what is being processed", ArtifactStatus.PROCESSING, NOW - DAY, False, False),
        ("nor what was deleted before", ArtifactStatus.DELETED, NOW - DAY, False, False),
        ("nor what has no end yet", ArtifactStatus.READY, None, False, False),
    ],
)
def test_what_expires(
    case: str, status: ArtifactStatus, until: datetime | None, *, pinned: bool, expired: bool
) -> None:
    assert is_expired(status, until, NOW, pinned=pinned) is expired, case


DURATIONS = st.timedeltas(SHORTEST, LONGEST)
MOMENTS = st.timedeltas(-LONGEST, LONGEST).map(lambda away: NOW + away)


@given(MOMENTS, DURATIONS, st.none() | DURATIONS, st.none() | DURATIONS, MOMENTS, st.sampled_from(ArtifactStatus))
def test_it_is_kept_for_its_whole_time_and_never_longer_once_a_pass_comes(
    finished: datetime,
    default: timedelta,
    requested: timedelta | None,
    tenant: timedelta | None,
    now: datetime,
    status: ArtifactStatus,
) -> None:
    until = keep_until(finished, RetentionSources(default, requested, tenant))
    assert until - finished in (default, requested, tenant)
    assert is_expired(status, until, now, pinned=False) == (status in EXPIRING and now >= until)
    assert not is_expired(status, until, now, pinned=True)
