"""What the browser role counts."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

SEARCHES = Counter("touchline_browser_searches", "Searches of the social network, by how they ended.", ["outcome"])
SEARCH_SECONDS = Histogram(
    "touchline_browser_search_seconds",
    "How long a search took, without waiting for its turn.",
    buckets=(0.5, 1, 2, 5, 10, 20, 45, 90, 180),
)
