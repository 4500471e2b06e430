"""Leases of a worker, and its settings."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta

import pytest
from pydantic import ValidationError

from touchline.kernel import LeaseLost, Unavailable
from touchline.process.queue.jobs import JobType
from touchline.process.queue.leases import Lease
from touchline.process.settings import WorkerSettings

DELAY = timedelta(milliseconds=1)


class Answer:
    """An end that the database has written down, and whose answer is on its way."""

    def __init__(self, lease: Lease, lose: str) -> None:
        self.lease, self.lose, self.tries = lease, lose, 0

    async def __call__(self) -> str:
        self.tries += 1
        getattr(self.lease, self.lose)()
        await asyncio.sleep(0)
        if self.tries == 1:
            raise Unavailable("the answer was lost")
        return "done"


def lease_of(stopped: list[str]) -> Lease:
    class Work:
        id, attempt = "job", 1

    return Lease(Work(), lambda: stopped.append("stopped"))  # pyright: ignore[reportArgumentType]


async def test_a_heartbeat_that_sees_the_end_itself_is_no_lost_lease(caplog: pytest.LogCaptureFixture) -> None:
    stopped: list[str] = []
    lease = lease_of(stopped)
    with caplog.at_level(logging.WARNING):
        assert await lease.retry_while_held(Answer(lease, "refuse"), DELAY) == "done"
    assert (lease.lost, stopped) == (False, [])
    assert [record.message for record in caplog.records] == ["retrying to record the end of a job"]


async def test_a_refused_heartbeat_before_the_end_stops_the_work_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    stopped: list[str] = []
    lease = lease_of(stopped)
    with caplog.at_level(logging.WARNING):
        lease.refuse()
        lease.refuse()
    assert (lease.lost, stopped) == (True, ["stopped"])
    assert [record.message for record in caplog.records] == ["lease lost"]
    with pytest.raises(LeaseLost):
        await lease.retry_while_held(Answer(lease, "refuse"), DELAY)


async def test_a_database_that_is_away_for_longer_than_the_lease_ends_the_insisting() -> None:
    lease = lease_of([])
    with pytest.raises(LeaseLost, match="unavailable for too long"):
        await lease.retry_while_held(Answer(lease, "lose"), DELAY)


def test_the_defaults_are_the_contracts() -> None:
    settings = WorkerSettings()
    assert settings.lease == timedelta(minutes=5)
    assert settings.heartbeat_interval * 3 <= settings.lease


def test_a_heartbeat_that_comes_too_late_is_refused() -> None:
    with pytest.raises(ValidationError, match="heartbeat_interval"):
        WorkerSettings(lease=timedelta(minutes=2))


def test_job_types_are_checked() -> None:
    assert WorkerSettings.model_validate({"job_types": ["ocr"]}).job_types == (JobType.OCR,)
    with pytest.raises(ValidationError):
        WorkerSettings.model_validate({"job_types": ["dance"]})
