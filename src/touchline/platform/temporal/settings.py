"""Settings of the Temporal part."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section


class TemporalSettings(Section):
    address: str = Field(default="", pattern=r"^$|^\S+:\d{1,5}$")
    """Where a Temporal server answers, as host:port; empty starts the embedded one."""

    namespace: str = Field(default="touchline", min_length=2, max_length=255)
    """The namespace that holds our workflows; created if it may be."""

    tls: bool = False
    """Whether the connection to `address` is encrypted. An API key switches it on."""

    api_key: SecretStr = SecretStr("")
    """The key for Temporal Cloud or a server that asks for one."""

    retention: Duration = timedelta(days=7)
    """How long the history of a closed workflow can be looked at."""

    connect_timeout: Duration = timedelta(seconds=30)
    """How long a start waits for the server to answer."""
