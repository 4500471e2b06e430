"""Metrics of periodic work."""

from __future__ import annotations

from prometheus_client import Counter

PASSES = Counter("touchline_periodic_passes", "Passes of periodic tasks by this process.", ["task", "outcome"])
