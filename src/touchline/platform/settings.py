"""Settings of the platform: PostgreSQL, event log, periodic work, objects, ClickHouse, Temporal, RPC and the stack."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, SecretStr, Section, WebAddress

from .clickhouse.options import MIB, OwnerLimits


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


class PeriodicSettings(Section):
    poll_interval: Duration = timedelta(seconds=5)
    """How often a process checks for a task that is due."""

    lease: Duration = timedelta(minutes=10)
    """How long one pass may take before another process may start it again."""

    retry_delay: Duration = timedelta(seconds=10)
    """The delay after a pass that failed; it doubles, up to the task's own interval."""


class ObjectsSettings(Section):
    url: WebAddress = ""
    """The address of an S3 service, like https://s3.example.org; empty starts the embedded one."""

    public_url: WebAddress = ""
    """The address of the same service for browsers, if it differs: signed URLs use it."""

    bucket: str = Field(default="touchline", pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")
    """The one bucket that holds everything."""

    region: str = "us-east-1"
    """The region that requests are signed for."""

    access_key: str = ""
    """The id of the access key. Needed with `url`."""

    secret_key: SecretStr = SecretStr("")
    """The secret of the access key. Needed with `url`."""

    connect_timeout: Duration = timedelta(seconds=5)
    """How long to wait for a connection."""

    request_timeout: Duration = timedelta(seconds=30)
    """How long the service may send nothing during a request."""

    retries: int = Field(default=3, ge=0, le=10)
    """How many times a request without a response is sent again."""

    connections: int = Field(default=8, ge=1, le=64)
    """The most requests that one process runs in threads at once: whole files, parts, listings."""

    presign_lifetime: Duration = timedelta(minutes=15)
    """How long a signed URL is valid by default."""

    single_put_limit: ByteSize = Field(default=ByteSize(5 * 1024**3), ge=5 * 1024**2)
    """Larger files are uploaded in parts. S3 accepts 5 GiB in one request; SeaweedFS has no limit."""

    browser_origins: tuple[str, ...] = ("*",)
    """Which web pages may use signed URLs (CORS). The signature grants access, so any page may by default."""


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

    @property
    def uses_tls(self) -> bool:
        return self.tls or bool(self.api_key.get_secret_value())


class RpcSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. Calls are signed but not encrypted: beyond loopback use a private network."""

    port: Port = 0
    """The port to listen on. `control` chooses a free one and remembers it; a role that runs as its own process needs
    a fixed one."""

    health_port: Port = 0
    """The port on which the roles registry, artifacts and events, as processes of their own, serve `/health/live`,
    `/health/ready` and `/metrics`; 0: none. The gateway serves these at its own port."""

    start_timeout: Duration = timedelta(seconds=30)
    """How long a process waits at its start for the roles at addresses that are set, before it exits."""

    deadline: Duration = timedelta(seconds=10)
    """How long a call may take when the caller sets no other deadline."""

    longest_deadline: Duration = timedelta(minutes=5)
    """The longest that a server works on one call, whatever deadline the caller sets."""

    clock_tolerance: Duration = timedelta(seconds=30)
    """How far the clocks of two machines may differ: calls that are older, or from the future, are refused."""

    remembered_calls: int = Field(default=100_000, ge=1)
    """How many calls a server remembers to refuse replays. Calls as old as a forgotten one are refused as well."""

    max_message: ByteSize = ByteSize(4 * 1024**2)
    """The largest message that is sent or read."""

    concurrent_calls: int = Field(default=256, ge=1)
    """How many calls a server works on at once, the streams of nodes included."""

    keepalive: Duration = timedelta(seconds=30)
    """How often an idle connection is checked."""

    keepalive_timeout: Duration = timedelta(seconds=10)
    """How long the other side may take to answer such a check."""

    stop_grace: Duration = timedelta(seconds=2)
    """How long running calls may continue when the server stops."""


# --- Addresses of roles that run as processes of their own. What has none is run by the process that needs it.

_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})", re.ASCII)
HIGHEST_PORT = 65_535


def _host_and_port(value: str) -> str:
    found = _ADDRESS.fullmatch(value)
    if value and (found is None or not 0 < int(found["port"]) <= HIGHEST_PORT):
        raise ValueError("write the host and the port, like 10.0.0.5:4001 or [fd00::5]:4001")
    return value


RpcAddress = Annotated[str, AfterValidator(_host_and_port)]


class RegistrySettings(Section):
    address: RpcAddress = ""
    """The address of the registry role, like `10.0.0.5:4001`. Empty: the process that needs the role runs it itself."""


class ArtifactsSettings(Section):
    address: RpcAddress = ""
    """The address of the artifacts role, like `10.0.0.5:4002`. Empty: the process that needs the role runs it
    itself."""


class LifecycleSettings(Section):
    address: RpcAddress = ""
    """The address of the events role, which returns the lifecycle of artifacts, like `10.0.0.5:4003`. Empty: the
    process that needs it queries ClickHouse itself."""


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
