"""Periodic work: idempotent, bounded passes that any process may take over."""

from .runner import PeriodicRunner, Task

__all__ = ["PeriodicRunner", "Task"]
