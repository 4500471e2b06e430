"""Metrics of summed days."""

from __future__ import annotations

from prometheus_client import Counter

SUMMED_DAYS = Counter("touchline_measure_days_summed", "Days of session facts that were summed, repeats too.")
