"""Settings of events from outside."""

from __future__ import annotations

from datetime import timedelta

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
