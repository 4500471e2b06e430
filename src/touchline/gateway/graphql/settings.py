"""Settings of the GraphQL surface: what one request may ask for, and what one live connection may cost."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Section


class GraphqlSettings(Section):
    max_depth: int = Field(default=10, ge=1)
    """How many levels of fields one operation may nest, fragments included."""

    max_cost: int = Field(default=30_000, ge=1)
    """How many fields one operation may ask for, those of a page counted for each of its rows."""

    max_aliases: int = Field(default=30, ge=0)
    """How many aliases one operation may use, those in fragments counted wherever they are spread."""

    max_tokens: int = Field(default=2_000, ge=1)
    """How many words and signs one document may have."""

    max_document: ByteSize = Field(default=ByteSize(64 * 1024), ge=1024)
    """How long one document may be, in characters. What it works on belongs into variables."""

    request_timeout: Duration = timedelta(seconds=20)
    """How long one request may take."""

    lifecycle_timeout: Duration = timedelta(seconds=2)
    """How long a page waits for the lifecycle of its rows before they come without it."""

    connections_per_tenant: int = Field(default=200, ge=1)
    """How many live connections the users and programs of one tenant may hold at one gateway."""

    subscriptions_per_connection: int = Field(default=20, ge=1)
    """How many subscriptions one live connection may carry."""

    hello_timeout: Duration = timedelta(seconds=10)
    """How long a new live connection may stay silent before it says who it is."""

    recheck_every: Duration = timedelta(seconds=30)
    """How often the token of a live connection is checked again."""

    queue_events: int = Field(default=500, ge=1)
    """How many events wait for one live client at most."""

    queue_patience: Duration = timedelta(seconds=5)
    """How long a full queue waits for its client before the connection is closed."""

    poll_interval: Duration = timedelta(seconds=1)
    """How long live connections wait for a wake-up before the log is looked at anyway."""
