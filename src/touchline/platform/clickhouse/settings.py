"""Settings of ClickHouse: its address, and the limits of the embedded one."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, SecretStr, Section, WebAddress

from .options import MIB, OwnerLimits


class ClickHouseSettings(Section):
    url: WebAddress = ""
    """The HTTP address of ClickHouse, like https://clickhouse.example.org:8443; empty starts the embedded one."""

    user: str = Field(default="touchline", pattern=r"^[^:\s]+$")
    """The user of every statement. Touchline's own tables need the rights to create, alter, read and write."""

    password: SecretStr = SecretStr("")
    """The password of the user. Needed with `url`; the embedded one has a generated password."""

    database: str = Field(default="touchline", pattern=r"^[a-z][a-z0-9_]{0,62}$")
    """The database that holds all tables."""

    connections: int = Field(default=4, ge=1, le=64)
    """The most statements that one process runs at once; further ones wait."""

    connect_timeout: Duration = timedelta(seconds=5)
    """How long to wait for a connection."""

    statement_timeout: Duration = Field(default=timedelta(seconds=30), ge=timedelta(seconds=1))
    """How long a statement may run when its caller sets no other limit."""

    embedded_memory: ByteSize = Field(default=ByteSize(768 * MIB), ge=256 * MIB)
    """The memory that all statements and merges of the embedded one may use in total, beyond the idle process."""

    embedded_statement_memory: ByteSize = Field(default=ByteSize(512 * MIB), ge=64 * MIB)
    """The memory that one statement of the embedded one may use."""

    embedded_threads: int = Field(default=2, ge=1, le=256)
    """How many threads one statement of the embedded one may use."""

    embedded_statements: int = Field(default=8, ge=1, le=256)
    """How many statements the embedded one runs at once; further ones wait, then fail as rate limited."""

    embedded_queue_wait: Duration = timedelta(seconds=5)
    """How long a statement waits for its turn in the embedded one."""

    embedded_longest_statement: Duration = Field(default=timedelta(minutes=1), ge=timedelta(seconds=1))
    """The longest that a statement may run in the embedded one, whatever its caller requests."""

    embedded_insert_size: ByteSize = Field(default=ByteSize(256 * MIB), ge=MIB)
    """The largest insert that the embedded one accepts, after decompression."""

    embedded_result_size: ByteSize = Field(default=ByteSize(128 * MIB), ge=MIB)
    """The largest result that the embedded one returns."""


def owner_limits(settings: ClickHouseSettings) -> OwnerLimits:
    return OwnerLimits(
        memory_bytes=settings.embedded_memory,
        statement_memory_bytes=settings.embedded_statement_memory,
        threads=settings.embedded_threads,
        concurrent_statements=settings.embedded_statements,
        queue_wait_ms=settings.embedded_queue_wait // timedelta(milliseconds=1),
        longest_statement_s=settings.embedded_longest_statement // timedelta(seconds=1),
        insert_bytes=settings.embedded_insert_size,
        result_bytes=settings.embedded_result_size,
    )
