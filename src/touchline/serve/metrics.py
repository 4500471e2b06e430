"""Metrics of the serve plane."""

from __future__ import annotations

from prometheus_client import Counter

UPLOADS = Counter("touchline_uploads", "Uploads that ended in this process, by how.", ["outcome"])
