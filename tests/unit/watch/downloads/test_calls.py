"""What the workflow calls is there, with the time-outs and retries that were agreed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, get_type_hints

import pytest
from temporalio import activity

from touchline.watch.downloads import workflow
from touchline.watch.downloads.activities import DownloadActivities
from touchline.watch.temporal import Call

CALLS: list[Call[Any]] = [each for each in vars(workflow).values() if isinstance(each, Call)]


def implementations() -> dict[str, Callable[..., Any]]:
    """By the names under which Temporal knows them."""
    found = [getattr(DownloadActivities, name) for name in vars(DownloadActivities)]
    known = [(activity._Definition.from_callable(each), each) for each in found if callable(each)]
    return {str(definition.name): each for definition, each in known if definition}


def test_each_call_has_its_activity_and_each_activity_its_call() -> None:
    assert {each.name for each in CALLS} == set(implementations())


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_the_answers_agree(call: Call[Any]) -> None:
    assert get_type_hints(implementations()[call.name])["return"] is call.answer


@pytest.mark.parametrize(
    ("call", "seconds", "attempts", "heartbeat", "heavy"),
    [
        (workflow.DOWNLOAD_SINGLE_VIDEO, 90, 3, None, True),
        (workflow.VALIDATE_VIDEO_IS_SOCCER, 90, 4, 60, True),
        (workflow.GENERATE_VIDEO_HASH, 300, 2, 60, True),
        (workflow.CLEANUP_DOWNLOAD_TEMP, 30, 2, None, False),
        (workflow.REGISTER_DOWNLOAD, 30, 5, None, False),
    ],
)
def test_times_and_tries(call: Call[Any], seconds: int, attempts: int, heartbeat: int | None, heavy: bool) -> None:
    assert (call.within, call.attempts) == (timedelta(seconds=seconds), attempts)
    assert (call.heartbeat, call.heavy) == (timedelta(seconds=heartbeat) if heartbeat else None, heavy)
    assert call.backoff == 2.0


def test_a_download_waits_two_seconds_first() -> None:
    assert workflow.DOWNLOAD_SINGLE_VIDEO.first_pause == timedelta(seconds=2)
