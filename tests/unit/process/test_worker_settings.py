from __future__ import annotations

from datetime import timedelta

import pytest
from pydantic import ValidationError

from touchline.process.queue.model import JobType
from touchline.process.queue.settings import WorkerSettings


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
