"""Metrics of the scanner."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

OBJECTS = Counter("touchline_scanned_objects", "Objects that the scanner looked at, by what it did.", ["outcome"])
MISSING = Gauge("touchline_originals_missing", "Artifacts whose original is not in the bucket, at the last pass.")
