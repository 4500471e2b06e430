"""When the queue complains: beyond a threshold, once when it begins and once when it ends."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from touchline.kernel import TenantId
from touchline.process.queue.alerts.model import Alert, Finding, Kind, Measured
from touchline.process.queue.alerts.rules import changes, gone, judge, signature
from touchline.process.queue.alerts.settings import AlertSettings

TENANT = TenantId(UUID(int=1))
SETTINGS = AlertSettings(failure_rate=0.5, failure_minimum=4, dead_letters=2)


@pytest.mark.parametrize(
    ("done", "failed", "oldest_s", "dead", "raised"),
    [
        (10, 0, 0.0, 0, set[Kind]()),
        (0, 3, 0.0, 2, set[Kind]()),  # too few to say anything
        (2, 2, 0.0, 2, set[Kind]()),  # at the threshold is not beyond it
        (1, 3, 0.0, 3, {Kind.FAILURE_RATE, Kind.DEAD_LETTERS}),
        (0, 0, 1800.0, 0, set[Kind]()),
        (0, 0, 1801.0, 0, {Kind.QUEUE_AGE}),
    ],
)
def test_what_is_beyond_its_threshold(done: int, failed: int, oldest_s: float, dead: int, raised: set[Kind]) -> None:
    measured = Measured(TENANT, "ocr", done=done, failed=failed, oldest_s=oldest_s, dead=dead)
    assert {finding.kind for finding in judge(measured, SETTINGS) if finding.raised} == raised


def alert(raised: bool) -> Alert:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    return Alert(TENANT, "queue_age", "ocr", raised, 9.0, 5.0, when, 1, told=True, tries=1)


def finding(value: float) -> Finding:
    return Finding(TENANT, "ocr", Kind.QUEUE_AGE, value, 5.0)


@pytest.mark.parametrize(
    ("value", "known", "told"),
    [
        (9.0, None, True),
        (9.0, True, False),
        (9.0, False, True),
        (1.0, None, False),
        (1.0, True, True),
        (1.0, False, False),
    ],
)
def test_only_a_change_is_told(value: float, known: bool | None, told: bool) -> None:
    before = {} if known is None else {(TENANT, "queue_age", "ocr"): alert(known)}
    assert bool(changes([finding(value)], before)) == told


def test_an_alert_of_which_nothing_is_left_is_cleared() -> None:
    known = {(TENANT, "queue_age", "ocr"): alert(True)}
    [cleared] = gone([], known)
    assert not cleared.raised
    assert gone([finding(9.0)], known) == []


def test_a_signature_is_of_time_and_body() -> None:
    first = signature("secret", 1, b"body")
    assert len(first) == 64
    assert first not in {signature("other", 1, b"body"), signature("secret", 2, b"body"), signature("secret", 1, b"b")}
