"""Settings of the internal RPC: how this process serves it, and where other roles are asked."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section


class RpcSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. Calls are signed but not encrypted: beyond loopback use a private network."""

    port: Port = 0
    """The port to listen on. `control` chooses a free one and remembers it; a role of its own needs a fixed one, by
    which others find it."""

    health_port: Port = 0
    """Where the roles registry, artifacts and events of their own answer `/health/live`, `/health/ready` and
    `/metrics`; 0: nowhere. The gateway answers these at its own port."""

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
    """Where the registry role answers, like `10.0.0.5:4001`. Without it, the process that needs it runs it itself."""


class ArtifactsSettings(Section):
    address: RpcAddress = ""
    """Where the artifacts role answers, like `10.0.0.5:4002`. Without it, the process that needs it runs it itself."""


class LifecycleSettings(Section):
    address: RpcAddress = ""
    """Where the events role answers questions about the lifecycle of artifacts, like `10.0.0.5:4003`. Without it, the
    process that needs it asks ClickHouse itself."""
