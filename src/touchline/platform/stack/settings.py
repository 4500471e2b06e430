"""Settings of the embedded stack: what it may use, and how patient it is."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Section

MIB = 1024**2


class StackSettings(Section):
    service_user: str = "nobody"
    """When started by root: the user that PostgreSQL runs as, since it refuses to run as root."""

    start_timeout: Duration = timedelta(minutes=2)
    """How long `up --detach` waits until everything is ready before it says what is not."""

    role_stop_grace: Duration = timedelta(seconds=10)
    """How long our own processes may take to stop before they are killed."""

    server_stop_grace: Duration = timedelta(seconds=60)
    """How long a server may take to stop before it is killed."""

    health_interval: Duration = timedelta(seconds=10)
    """How often each of our own processes is asked whether it still answers."""

    health_timeout: Duration = timedelta(seconds=20)
    """How long such an answer may take before `status` says that the process is unhealthy."""

    hung_after: Duration = timedelta(minutes=2)
    """A process that answered nothing for this long is stopped and started again."""

    restart_delay: Duration = timedelta(milliseconds=200)
    """How long the first restart of a part waits; each further one waits twice as long."""

    longest_restart_delay: Duration = timedelta(seconds=30)
    """The most that a restart waits."""

    stable_after: Duration = timedelta(minutes=1)
    """A part that was ready for this long is restarted with the first delay again."""

    log_size: ByteSize = Field(default=ByteSize(10 * MIB), ge=MIB)
    """How large a log file grows before a new one is begun."""

    log_files: int = Field(default=3, ge=1, le=100)
    """How many full log files of each part are kept."""

    least_free_space: ByteSize = ByteSize(2048 * MIB)
    """`doctor` warns when the disk of the data folder has less free space."""

    postgres_memory: ByteSize = Field(default=ByteSize(128 * MIB), ge=16 * MIB)
    """The shared buffers of the embedded PostgreSQL."""

    postgres_connections: int = Field(default=200, ge=20, le=5000)
    """The most connections that the embedded PostgreSQL accepts."""

    temporal_memory: ByteSize = Field(default=ByteSize(256 * MIB), ge=64 * MIB)
    """What the embedded Temporal tries to stay below."""

    temporal_page: bool = False
    """Whether the embedded Temporal has its own page, which asks nobody who they are."""

    clickhouse_niceness: int = Field(default=5, ge=0, le=19)
    """How far the embedded ClickHouse stands back while other processes of the machine want the processor: 0 is not at
    all, 19 the most."""

    objects_memory: ByteSize = Field(default=ByteSize(320 * MIB), ge=64 * MIB)
    """What the embedded SeaweedFS tries to stay below. Near its idle size it would only collect garbage."""

    objects_free_space: ByteSize = Field(default=ByteSize(1024 * MIB), ge=64 * MIB)
    """The embedded SeaweedFS stops writing when the disk has less free space; with less, nothing starts."""

    objects_volume_size: ByteSize = Field(default=ByteSize(1024 * MIB), ge=16 * MIB, le=30_000 * MIB)
    """How large one volume file of the embedded SeaweedFS grows."""
