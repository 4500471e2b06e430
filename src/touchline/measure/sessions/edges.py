"""The traces that are signals, by the names under which gateways and runners send them."""

from __future__ import annotations

STREAM_REQUEST = "gateway_receive_stream_request"
FIRST_INGEST = "gateway_send_first_ingest_segment"
RUNNER_FIRST_PROCESSED = "runner_send_first_processed_segment"
FIRST_PROCESSED = "gateway_receive_first_processed_segment"
PLAYABLE = "gateway_receive_few_processed_segments"
NO_ORCHESTRATORS = "gateway_no_orchestrators_available"
SWAP = "orchestrator_swap"
CLOSED = "gateway_ingest_stream_closed"

CATEGORIES = ("gateway", "orchestrator", "runner", "app")


def trace_category(trace_type: str) -> str:
    """Who a trace is of."""
    who, underscore, _ = trace_type.partition("_")
    return who if underscore and who in CATEGORIES else "other"
