"""What `touchline doctor` says of periodic work."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from touchline.apps.doctor import publish_finding, tasks_finding
from touchline.platform.periodic.store import PeriodicTaskStatus
from touchline.platform.stack.doctor import FindingLevel

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)
TASK = PeriodicTaskStatus("retention", timedelta(hours=1), NOW, False, None, NOW, NOW, 0, None, None)


@pytest.mark.parametrize(
    ("task", "level", "why"),
    [
        (TASK, FindingLevel.OK, ""),
        (replace(TASK, failures=2, last_error="Unavailable: no"), FindingLevel.WARN, "failed 2 times: Unavailable: no"),
        (replace(TASK, limited_since=NOW), FindingLevel.WARN, "exceeded its limit since 2026-03-31 12:00:00"),
    ],
)
def test_periodic_work_that_fails_or_is_held_back_is_a_finding(
    task: PeriodicTaskStatus, level: FindingLevel, why: str
) -> None:
    finding = tasks_finding([TASK, task])
    assert finding.level is level
    assert why in finding.why


HERE, THERE = "rtmp://127.0.0.1/live", "rtmp://node-2.example.org/live"


@pytest.mark.parametrize(
    ("urls", "silent", "level", "said"),
    [
        ([HERE, THERE], [], FindingLevel.OK, THERE),
        ([HERE, THERE], [THERE], FindingLevel.WARN, THERE),
        ([], [], FindingLevel.WARN, "no node takes live streams"),
    ],
)
def test_where_encoders_publish_to_is_a_finding(
    urls: list[str], silent: list[str], level: FindingLevel, said: str
) -> None:
    finding = publish_finding(urls, silent)
    assert finding.level is level
    assert said in f"{finding.what} {finding.why}"
