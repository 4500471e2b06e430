"""Metrics of purges."""

from __future__ import annotations

from prometheus_client import Counter

PURGED = Counter("touchline_videos_purged", "Videos of which this process saw the last rows and objects go.")
