"""Settings of measure. Those of sessions are part of what a row follows from: with others, the rows are others."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from touchline.contracts.settings import ByteSize, Duration, Field, Section

MIB = 1024 * 1024


class IngestSettings(Section):
    max_body: ByteSize = Field(default=ByteSize(16 * MIB), ge=1024)
    """The largest body that `POST /events` takes, as it is sent."""

    max_unpacked: ByteSize = Field(default=ByteSize(32 * MIB), ge=1024)
    """The most that such a body may hold once it is unpacked."""

    max_records: int = Field(default=20_000, ge=1, le=100_000)
    """The most events of one delivery. A file is imported in as many deliveries as it needs."""

    receive_deadline: Duration = Field(default=timedelta(minutes=5), ge=timedelta(seconds=1))
    """After this time a delivery that was not finished counts as stored if its events are there, else as never made."""

    max_ahead: Duration = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """How far an event may be dated ahead of our clock when it is received, or read from a file
    by `touchline sessions build`. Later ones are quarantined."""

    fold_interval: Duration = Field(default=timedelta(seconds=5), ge=timedelta(milliseconds=10))
    """How often to look for stored events when nothing says that some have come."""

    fold_gather: Duration = timedelta(seconds=3)
    """How long to wait for more when some have come: a pass over few events costs about as much as one over many."""

    fold_records: int = Field(default=20_000, ge=1)
    """The most new events that one fold pass takes; at least one delivery."""

    fold_bytes: ByteSize = Field(default=ByteSize(32 * MIB), ge=1024)
    """How many bytes of stored events a fold pass holds at once."""


CANCELLED = (
    "cancelled:"  # on purpose: so begins the error of our own work that somebody stopped, or that lost its video
)
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


class AnalyticsSettings(Section):
    default_range: Duration = Field(default=timedelta(days=7), ge=timedelta(minutes=1))
    """How far back an answer goes when nobody says from when."""

    longest_range: Duration = Field(default=timedelta(days=400), ge=timedelta(minutes=1))
    """The longest time that one answer may cover."""

    largest_export: int = Field(default=1_000_000, ge=1)
    """How many sessions one export may hold."""

    sum_after: Duration = Field(default=timedelta(minutes=1), ge=timedelta())
    """How long nothing must have been written under a day before its sessions are summed for long answers."""
