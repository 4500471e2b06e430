"""Whose media a node sends: as the artifacts role said last, and nobody's when that was too long ago."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from touchline.kernel import Forbidden, ManualClock, TenantId, Unavailable
from touchline.serve.agent.media import TenantAccess

OURS, THEIRS = TenantId(uuid4()), TenantId(uuid4())


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 3, 31, 12, tzinfo=UTC))


def test_a_node_that_has_heard_nothing_sends_nothing(clock: ManualClock) -> None:
    with pytest.raises(Unavailable):
        TenantAccess(clock).require(OURS)


def test_a_suspended_tenant_is_refused_until_it_is_resumed(clock: ManualClock) -> None:
    access = TenantAccess(clock)
    access.hear(frozenset[UUID]({THEIRS}))
    access.require(OURS)
    with pytest.raises(Forbidden):
        access.require(THEIRS)
    access.hear(frozenset())
    access.require(THEIRS)


def test_what_was_heard_holds_for_minutes(clock: ManualClock) -> None:
    access = TenantAccess(clock)
    access.hear(frozenset())
    clock.advance(timedelta(minutes=5))
    access.require(OURS)
    clock.advance(timedelta(seconds=1))
    with pytest.raises(Unavailable):
        access.require(OURS)
