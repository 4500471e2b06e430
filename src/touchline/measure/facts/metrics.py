"""Metrics of fold passes."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

PASSES = Counter("touchline_measure_fold_passes", "Passes that made session facts of stored events.")
PASSES_FAILED = Counter("touchline_measure_fold_passes_failed", "Fold passes that did not end; made again.")
PASS_SECONDS = Histogram("touchline_measure_fold_seconds", "How long a fold pass took.")
FOLDED_RECORDS = Counter("touchline_measure_records_folded", "Records of the deliveries that fold passes finished.")
FOLDED_SESSIONS = Counter("touchline_measure_sessions_folded", "Sessions that fold passes wrote, repeats too.")
