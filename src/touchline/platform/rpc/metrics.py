"""Metrics of the internal RPC."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

CALLS = Counter("touchline_rpc_calls", "Calls that this process answered.", ["method", "outcome"])
SECONDS = Histogram("touchline_rpc_seconds", "How long this process took to answer a call.", ["method"])
