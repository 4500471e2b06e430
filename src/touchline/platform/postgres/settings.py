"""Settings of PostgreSQL."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, SecretStr, Section


class PostgresSettings(Section):
    url: SecretStr = SecretStr("")
    """The URL of PostgreSQL 15 or newer, as the role touchline_app; empty starts the embedded one."""

    owner_url: SecretStr = SecretStr("")
    """The same database as touchline_owner, for migrations. Needed with `url`."""

    worker_url: SecretStr = SecretStr("")
    """The same database as touchline_worker. Without it workers connect by `url`."""

    readonly_url: SecretStr = SecretStr("")
    """The same database as touchline_readonly. Without it readers connect by `url`."""

    pool_size: int = 8
    """The most connections that one process keeps."""

    acquire_timeout: Duration = timedelta(seconds=10)
    """How long a request waits for a connection before it fails as unavailable."""

    statement_timeout: Duration = timedelta(seconds=30)
    """How long one statement may run."""
