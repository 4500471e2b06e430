"""Settings of measure. Those of sessions are part of what a row follows from: with others, the rows are others."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from touchline.contracts.settings import ByteSize, Duration, Field, Section

MIB = 1024 * 1024


class IngestSettings(Section):
    max_body: ByteSize = Field(default=ByteSize(16 * MIB), ge=1024)
    """The largest body of `POST /events`, as it is sent."""

    max_unpacked: ByteSize = Field(default=ByteSize(32 * MIB), ge=1024)
    """The largest body of `POST /events` after decompression."""

    max_records: int = Field(default=20_000, ge=1, le=100_000)
    """The most events in one delivery. Files are imported in as many deliveries as they need."""

    receive_deadline: Duration = Field(default=timedelta(minutes=5), ge=timedelta(seconds=1))
    """After this time an unfinished delivery counts as stored if its events are stored, else as not received."""

    max_ahead: Duration = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """How far in the future the time of an event may be when it is received, or read from a file by `touchline
    sessions build`. Later ones are quarantined."""

    fold_interval: Duration = Field(default=timedelta(seconds=5), ge=timedelta(milliseconds=10))
    """How often stored events are polled when no notification arrives."""

    fold_gather: Duration = timedelta(seconds=3)
    """How long to wait for more events after the first: a pass over few events costs about as much as one over many."""

    fold_records: int = Field(default=20_000, ge=1)
    """The most new events that one fold pass processes; at least one delivery."""

    fold_bytes: ByteSize = Field(default=ByteSize(32 * MIB), ge=1024)
    """The most stored events that a fold pass holds in memory at once."""


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
    """Errors that excuse a session that did not start: parts of their messages, in upper or lower case."""

    canonical_field: Literal["local_address", "address"] = "local_address"
    """Which field of a capability row names the orchestrator in the facts."""

    attribution_window: Duration = Field(default=timedelta(hours=24), ge=timedelta(0))
    """How far from the start of a segment a capability snapshot may be to determine its model and GPU."""

    final_after_close: Duration = Field(default=timedelta(minutes=5), ge=timedelta(0))
    """How long after it closed a session becomes final, by the latest event time received."""

    final_after_silence: Duration = Field(default=timedelta(hours=1), ge=timedelta(0))
    """How long after its last event a session that was never closed becomes final."""


class AnalyticsSettings(Section):
    default_range: Duration = Field(default=timedelta(days=7), ge=timedelta(minutes=1))
    """The time range of an answer when no start is given."""

    longest_range: Duration = Field(default=timedelta(days=400), ge=timedelta(minutes=1))
    """The longest time range of one answer."""

    largest_export: int = Field(default=1_000_000, ge=1)
    """The most sessions in one export."""

    sum_after: Duration = Field(default=timedelta(minutes=1), ge=timedelta())
    """How long the sessions of a day must be unchanged before they are rolled up for long time ranges."""
