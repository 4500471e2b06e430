"""Metrics of the feed. What is left is shared by all processes, the rest is of this one."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

REQUESTS = Counter("touchline_feed_requests", "Questions to the football feed.", ["endpoint", "outcome"])
LEFT = Gauge("touchline_feed_requests_left", "How often the feed may still be asked in this span.", ["span"])
LEFT_OUT = Counter("touchline_feed_left_out", "Matches and entries of the feed that could not be read.", ["reason"])
