"""Settings of session facts. They are part of what a row follows from: with others, the rows are others."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from touchline.contracts.settings import Duration, Field, Section

CANCELLED = "cancelled by"  # somebody, on purpose: the message of a job that a person stopped names them
EXCUSABLE = (
    "no orchestrators available",
    "mediamtx ingest disconnected",
    "whip disconnected",
    "missing video",
    "ice connection state failed",
    "user disconnected",
    CANCELLED,
)


class SessionSettings(Section):
    excusable_errors: tuple[str, ...] = EXCUSABLE
    """Errors that are nobody's fault: parts of their messages, in any case."""

    canonical_field: Literal["local_address", "address"] = "local_address"
    """Which field of a capability row names the orchestrator in the facts."""

    attribution_window: Duration = Field(default=timedelta(hours=24), ge=timedelta(0))
    """How far from a segment's start a snapshot may be to tell its model and GPU."""

    final_after_close: Duration = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """A session is final this long after it closed, by the greatest event time seen."""

    final_after_silence: Duration = Field(default=timedelta(hours=1), ge=timedelta(0))
    """A session that was never closed is final this long after its last event."""
