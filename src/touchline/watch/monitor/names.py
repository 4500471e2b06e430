"""The readable id of a monitor run: what goals remember of who saw them. Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def monitor_run_id(started: datetime) -> str:
    return f"monitor-{started.astimezone(UTC):%d_%m_%Y-%H:%M:%S}"
