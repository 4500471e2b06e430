"""Metrics of the event log."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

SEQUENCED = Counter("touchline_events_sequenced", "Events that were given their position by this process.")
CONSUMED = Counter("touchline_events_consumed", "Events that a consumer has taken, by this process.", ["consumer"])
SET_ASIDE = Counter("touchline_events_set_aside", "Events that a consumer could not take.", ["consumer"])
HEAD = Gauge("touchline_events_head", "The last position of the event log.")
INBOX = Gauge("touchline_events_inbox", "Committed events that wait for their position.")
LAG = Gauge("touchline_events_lag", "How many positions a consumer is behind the head.", ["consumer"])
POISON = Gauge("touchline_events_poison", "Events that are set aside now.", ["consumer"])
