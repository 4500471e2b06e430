"""Settings of the event log."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, Section


class EventSettings(Section):
    poll_interval: Duration = timedelta(seconds=1)
    """How often the sequencer and consumers poll when no notification wakes them."""

    sequence_batch: int = Field(default=1000, ge=1)
    """How many events get their positions in one transaction; some more when the last ones were written together."""

    consume_batch: int = Field(default=200, ge=1)
    """The most events that a consumer processes in one transaction."""

    gather: Duration = timedelta(milliseconds=500)
    """How long a consumer that writes to ClickHouse waits for more events after the first, so that one insert takes
    them all; zero takes each as it comes. What is shown live comes from the log itself and does not wait."""

    poison_after: int = Field(default=3, ge=1)
    """How many times a consumer tries one event before it is set aside."""

    retry_delay: Duration = timedelta(milliseconds=200)
    """The first delay after a failure; it doubles up to thirty seconds."""

    keep_for: Duration = timedelta(days=30)
    """How long events stay in the table before they move to the archive in the object store."""

    archive_chunk: int = Field(default=10_000, ge=1)
    """How many positions one archived object holds."""

    archive_most_chunks: int = Field(default=100, ge=1)
    """The most objects that one pass of the archive writes."""
