"""Metrics of watching: the goals of the last day, of all tenants, as they are now."""

from __future__ import annotations

from prometheus_client import Gauge

GOALS = Gauge("touchline_watch_goals", "Goals of the last day by how far they are.", ["state"])
COVERED = Gauge("touchline_watch_goals_covered", "Goals of the last day that have at least one video.")
COVERAGE = Gauge(
    "touchline_watch_coverage_ratio",
    "Share of the last day's goals whose search is over that have at least one video; not a number without any.",
)
FIRST_VIDEO = Gauge(
    "touchline_watch_first_video_seconds",
    "From the first sight of a goal to its first video, over the last day; not a number without any.",
    ["quantile"],
)
FOUND = Gauge(
    "touchline_watch_found", "Videos that were found for the last day's goals by what became of them.", ["outcome"]
)
