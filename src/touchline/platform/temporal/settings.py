"""Settings of Temporal."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section


class TemporalSettings(Section):
    address: str = Field(default="", pattern=r"^$|^\S+:\d{1,5}$")
    """The address of a Temporal server, as host:port; empty starts the embedded one."""

    namespace: str = Field(default="touchline", min_length=2, max_length=255)
    """The namespace that holds our workflows; created if the server allows it."""

    tls: bool = False
    """Whether the connection to `address` uses TLS. An API key switches it on."""

    api_key: SecretStr = SecretStr("")
    """The API key for Temporal Cloud or a server that requires one."""

    retention: Duration = timedelta(days=7)
    """How long the history of a closed workflow is kept."""

    connect_timeout: Duration = timedelta(seconds=30)
    """How long to wait for the server at the start."""
