"""Metrics of the search for videos, of this process."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

SEARCHES = Counter("touchline_watch_searches", "Queries to the browser role, by how they ended.", ["outcome"])
FOUND = Counter("touchline_watch_found_videos", "Videos that were found for a goal and not known before.")
SELECTED = Counter("touchline_watch_selected_videos", "Videos that were handed to a download.")
WORKS = Gauge("touchline_watch_search_works", "Whether the last hourly look at the search succeeded.")
CHECKED = Gauge("touchline_watch_search_checked_seconds", "When that look was, in seconds since 1970.")
