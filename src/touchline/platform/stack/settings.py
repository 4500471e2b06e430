"""Settings of the embedded stack: its limits and timeouts."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Section

MIB = 1024**2


class StackSettings(Section):
    service_user: str = "nobody"
    """When started by root: the user that PostgreSQL runs as, since it refuses to run as root."""

    start_timeout: Duration = timedelta(minutes=2)
    """How long `up --detach` waits for everything to be ready before it reports what is not."""

    role_stop_grace: Duration = timedelta(seconds=10)
    """How long our own processes may take to stop before they are killed."""

    server_stop_grace: Duration = timedelta(seconds=60)
    """How long a server may take to stop before it is killed."""

    health_interval: Duration = timedelta(seconds=10)
    """How often each of our own processes gets a health check."""

    health_timeout: Duration = timedelta(seconds=20)
    """How long a health check may take before `status` shows the process as unhealthy."""

    hung_after: Duration = timedelta(minutes=2)
    """A process that answers no health check for this long is restarted."""

    restart_delay: Duration = timedelta(milliseconds=200)
    """The delay before the first restart of a part; it doubles with each further one."""

    longest_restart_delay: Duration = timedelta(seconds=30)
    """The longest delay before a restart."""

    stable_after: Duration = timedelta(minutes=1)
    """After a part was ready for this long, its next restart uses the first delay again."""

    log_size: ByteSize = Field(default=ByteSize(10 * MIB), ge=MIB)
    """How large a log file grows before it is rotated."""

    log_files: int = Field(default=3, ge=1, le=100)
    """How many rotated log files of each part are kept."""

    least_free_space: ByteSize = ByteSize(2048 * MIB)
    """`doctor` warns when the disk of the data folder has less free space."""

    postgres_memory: ByteSize = Field(default=ByteSize(128 * MIB), ge=16 * MIB)
    """The shared buffers of the embedded PostgreSQL."""

    postgres_connections: int = Field(default=200, ge=20, le=5000)
    """The most connections that the embedded PostgreSQL accepts."""

    temporal_memory: ByteSize = Field(default=ByteSize(256 * MIB), ge=64 * MIB)
    """The soft memory limit of the embedded Temporal."""

    temporal_page: bool = False
    """Whether the embedded Temporal serves its web page, which has no login."""

    clickhouse_niceness: int = Field(default=5, ge=0, le=19)
    """The niceness of the embedded ClickHouse, from 0 to 19: how far it gives way when other processes need the
    processor."""

    objects_memory: ByteSize = Field(default=ByteSize(320 * MIB), ge=64 * MIB)
    """The soft memory limit of the embedded SeaweedFS. Near its idle size it would only collect garbage."""

    objects_free_space: ByteSize = Field(default=ByteSize(1024 * MIB), ge=64 * MIB)
    """The embedded SeaweedFS stops writing when the disk has less free space; with less, nothing starts."""

    objects_volume_size: ByteSize = Field(default=ByteSize(1024 * MIB), ge=16 * MIB, le=30_000 * MIB)
    """How large one volume file of the embedded SeaweedFS grows."""
