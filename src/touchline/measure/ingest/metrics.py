"""Metrics of what goes into ClickHouse. How far the feed is behind is `touchline_events_lag`."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

STORED = Counter("touchline_lifecycle_events_stored", "Artifact events written to ClickHouse, repeats too.", ["type"])
INSERTS_FAILED = Counter("touchline_lifecycle_inserts_failed", "Inserts that ClickHouse did not take; tried again.")
INSERT_SECONDS = Histogram("touchline_lifecycle_insert_seconds", "How long an insert of artifact events took.")

DELIVERIES = Counter("touchline_measure_deliveries", "Deliveries of events from outside.", ["result"])
DELIVERED = Counter("touchline_measure_events_delivered", "Records of stored deliveries by what they are.", ["verdict"])
