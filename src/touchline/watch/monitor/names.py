"""The readable id of a monitor run: what goals remember of who saw them. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

READABLE = re.compile(r"monitor-\d\d_\d\d_\d{4}-\d\d:\d\d:\d\d")


def monitor_run_id(started: datetime) -> str:
    return f"monitor-{started.astimezone(UTC):%d_%m_%Y-%H:%M:%S}"


def name_of_run(workflow_id: str, scheduled: datetime | None, started: datetime) -> str:
    """A Schedule gives its runs ids of its own; who starts one by hand gives it the readable id."""
    if scheduled is None and READABLE.fullmatch(workflow_id):
        return workflow_id
    return monitor_run_id(scheduled or started)
