"""Behind every call of a workflow there is an activity of that name, and the other way round."""

from __future__ import annotations

import inspect
from datetime import timedelta
from types import ModuleType

import pytest
from temporalio import activity

from touchline.watch.fixtures import workflow as ingest_calls
from touchline.watch.fixtures.activities import IngestActivities
from touchline.watch.goals import workflow as monitor_calls
from touchline.watch.goals.activities import MonitorActivities
from touchline.watch.temporal import UNLIMITED, Call


def calls_of(module: ModuleType) -> dict[str, Call[object]]:
    return {each.name: each for each in vars(module).values() if isinstance(each, Call)}


def activities_of(kind: type) -> set[str]:
    found = (activity._Definition.from_callable(each) for _, each in inspect.getmembers(kind, inspect.isfunction))
    return {each.name for each in found if each and each.name}


@pytest.mark.parametrize(
    ("calls", "activities"), [(ingest_calls, IngestActivities), (monitor_calls, MonitorActivities)]
)
def test_calls_and_activities_are_the_same(calls: ModuleType, activities: type) -> None:
    assert set(calls_of(calls)) == activities_of(activities)


def test_time_outs_and_retries_are_as_documented() -> None:
    found = calls_of(monitor_calls) | calls_of(ingest_calls)
    assert found["fetch_todays_fixtures"] is ingest_calls.FETCH_UNTIL_ANSWERED
    assert ingest_calls.FETCH_TODAYS_FIXTURES.attempts == 3  # somebody waits for it
    assert {name: (call.within // timedelta(seconds=1), call.attempts) for name, call in found.items()} == {
        "fetch_todays_fixtures": (30, UNLIMITED),
        "categorize_and_store_fixtures": (30, 3),
        "remove_old_fixtures": (30, 3),
        "list_monitored_fixtures": (10, 3),
        "fetch_staging_fixtures": (60, 3),
        "process_staging_fixtures": (30, 3),
        "activate_pending_fixtures": (30, 2),
        "fetch_active_fixtures": (60, 3),
        "store_and_compare": (10, 3),
        "process_fixture_events": (60, 3),
        "complete_fixture_if_ready": (10, 3),
    }
