"""Settings of periodic work."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Section


class PeriodicSettings(Section):
    poll_interval: Duration = timedelta(seconds=5)
    """How often a process checks for a task that is due."""

    lease: Duration = timedelta(minutes=10)
    """How long one pass may take before another process may start it again."""

    retry_delay: Duration = timedelta(seconds=10)
    """The delay after a pass that failed; it doubles, up to the task's own interval."""
