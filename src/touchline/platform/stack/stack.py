"""The embedded stack as a whole: prepare the folder, describe the parts, supervise them, and where every part answers.

Invariant: ports, secrets and data are touched only by the process that holds the lock. A part whose address is set runs
elsewhere; every other one is embedded.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from psycopg.conninfo import conninfo_to_dict

from touchline.kernel import SetupError, SystemClock
from touchline.platform.clickhouse.options import OwnerLimits
from touchline.platform.endpoints import (
    ClickHouseEndpoint,
    Endpoints,
    ObjectsEndpoint,
    PostgresEndpoint,
    TemporalEndpoint,
)
from touchline.platform.files import raise_open_files_limit
from touchline.platform.settings import StackSettings

from . import clickhouse, objects, postgres, temporal
from .folder import (
    DataFolder,
    Installation,
    Ports,
    Secrets,
    choose_ports,
    ensure_secrets,
    private_folder,
    read_ports,
    read_secrets,
    service_user,
)
from .part import PartKind, StackPart, StackRole, role_part
from .status import PartState, PartStatus, hold_lock, kill_orphans, running_reaper
from .supervisor import Supervisor, SupervisorPlan


@dataclass(frozen=True, slots=True)
class OutsideEndpoints:
    """The parts that run elsewhere; None: an embedded one is started."""

    postgres: PostgresEndpoint | None = None
    objects: ObjectsEndpoint | None = None
    temporal: TemporalEndpoint | None = None
    clickhouse: ClickHouseEndpoint | None = None

    def addresses(self) -> dict[str, str]:
        """The addresses of the outside parts, by name, without secrets."""
        found = {
            "postgres": _host_of(self.postgres.app_url) if self.postgres else None,
            "temporal": self.temporal.address if self.temporal else None,
            "objects": self.objects.url if self.objects else None,
            "clickhouse": self.clickhouse.url if self.clickhouse else None,
        }
        return {name: address for name, address in found.items() if address}


NOTHING_OUTSIDE = OutsideEndpoints()


def _host_of(url: str) -> str:
    found = conninfo_to_dict(url)
    return f"{found.get('host', 'localhost')}:{found.get('port', 5432)}"


def resolve_endpoints(outside: OutsideEndpoints, ports: Ports, secrets: Secrets) -> Endpoints:
    return Endpoints(
        postgres=outside.postgres or postgres.endpoint(ports, secrets),
        objects=outside.objects or objects.endpoint(ports, secrets),
        temporal=outside.temporal or temporal.endpoint(ports),
        clickhouse=outside.clickhouse or clickhouse.endpoint(ports, secrets),
    )


def read_endpoints(folder: DataFolder, outside: OutsideEndpoints) -> Endpoints:
    """For a process that did not start the stack itself; the stack may have been stopped meanwhile."""
    try:
        return resolve_endpoints(outside, read_ports(folder.ports), read_secrets(folder.secrets))
    except KeyError as error:
        raise SetupError(
            "the embedded stack was never started here",
            why=f"{folder.root} has no {error.args[0]}",
            hint="Start it with `touchline up`, or set the addresses of the parts that run elsewhere.",
        ) from error


GATEWAY_PORT = "gateway"
RPC_PORT = "rpc"
WORKER_PORT = "worker"
NODE_PORT = "node"
WATCH_PORT = "watch"
BROWSER_PORT = "browser"
RTMP_PORT = "rtmp"
SRT_PORT = "srt"
ROLE_PORTS = (GATEWAY_PORT, RPC_PORT, NODE_PORT, RTMP_PORT, SRT_PORT, WORKER_PORT, WATCH_PORT, BROWSER_PORT)
PREFERRED_PORTS = {RTMP_PORT: 1935, SRT_PORT: 8890}  # where encoders expect them
CLUSTER_SECRET = "cluster"  # noqa: S105 - the name of one
PORTS = (*postgres.PORTS, *temporal.PORTS, *objects.PORTS, *clickhouse.PORTS, *ROLE_PORTS)
SECRETS = (*postgres.SECRETS, *objects.SECRETS, *clickhouse.SECRETS, CLUSTER_SECRET)
SERVERS: dict[str, Callable[[Installation], StackPart]] = {
    postgres.NAME: postgres.postgres_part,
    temporal.NAME: temporal.temporal_part,
    objects.NAME: objects.objects_part,
    clickhouse.NAME: clickhouse.clickhouse_part,
}

ReadyHook = Callable[[Endpoints], Awaitable[None]]
NO_OTHER_LIMITS = OwnerLimits()


async def no_hook(endpoints: Endpoints) -> None:
    """Nothing to do at this point."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What to run. `only` is for tests that need some of the servers."""

    folder: DataFolder
    settings: StackSettings
    outside: OutsideEndpoints = NOTHING_OUTSIDE
    roles: Callable[[Endpoints], Sequence[StackRole]] = lambda endpoints: ()
    on_ready: ReadyHook = no_hook
    report: Callable[[str], None] = lambda text: None
    only: frozenset[str] = frozenset(SERVERS)
    clickhouse: OwnerLimits = NO_OTHER_LIMITS


async def run_stack(stack: Stack) -> None:
    """Runs everything until it is asked to stop."""
    if sys.platform != "linux":
        hint = "Run it on Linux, or set the addresses of servers that run elsewhere."
        raise SetupError("the embedded stack needs Linux", why=f"this is {sys.platform}", hint=hint)
    raise_open_files_limit()  # what it starts inherits it, the servers included
    stack.folder.create(service_user(stack.settings.service_user))
    if objects.NAME in embedded_servers(stack):
        objects.require_space(stack.folder, stack.settings)
    with hold_lock(stack.folder):
        await asyncio.to_thread(kill_orphans, stack.folder)
        objects.remove_sockets(read_ports(stack.folder.ports))
        objects.remove_abandoned_sockets()
        installation = prepare_installation(stack)
        with _temporary(stack.folder), running_reaper(stack.folder, objects.sockets(installation.ports)):
            try:
                await Supervisor(stack.folder, stack.settings, supervisor_plan(stack, installation)).run()
            finally:
                objects.remove_sockets(installation.ports)  # also of a start that was stopped before its server ran


@contextmanager
def _temporary(folder: DataFolder) -> Generator[None]:
    """The folder for temporary files: emptied at the start, removed at the end."""
    shutil.rmtree(folder.temporary, ignore_errors=True)
    private_folder(folder.temporary)
    try:
        yield
    finally:
        shutil.rmtree(folder.temporary, ignore_errors=True)


def prepare_installation(stack: Stack) -> Installation:
    """Ports and secrets: the saved ones, new ones where there are none."""
    folder = stack.folder
    if not folder.secrets.exists() and (folder.of(postgres.NAME) / "data").exists():
        raise SetupError(
            f"{folder.secrets} is missing",
            why="the databases in this folder are protected with the secrets in it",
            hint="Restore the file from a backup, or start with a new data folder.",
        )
    ports = choose_ports(
        folder.ports,
        PORTS,
        avoid=objects.ports_with_foreign_sockets(read_ports(folder.ports)),
        preferred=PREFERRED_PORTS,
    )
    return _installation(stack, ports, ensure_secrets(folder.secrets, SECRETS))


def read_installation(stack: Stack) -> Installation | None:
    """The saved installation, unchanged; None before the first start."""
    ports, secrets = read_ports(stack.folder.ports), read_secrets(stack.folder.secrets)
    complete = ports.keys() >= set(PORTS) and secrets.keys() >= set(SECRETS)
    return _installation(stack, ports, secrets) if complete else None


def _installation(stack: Stack, ports: Ports, secrets: Secrets) -> Installation:
    user = service_user(stack.settings.service_user)
    return Installation(stack.folder, stack.settings, ports, secrets, user, stack.clickhouse)


def supervisor_plan(stack: Stack, installation: Installation) -> SupervisorPlan:
    endpoints = resolve_endpoints(stack.outside, installation.ports, installation.secrets)
    roles = [role_part(role, stack.folder, stack.settings) for role in stack.roles(endpoints)]
    return SupervisorPlan(
        parts=[*server_parts(stack, installation), *roles],
        outside=outside_statuses(stack.outside),
        on_ready=lambda: stack.on_ready(endpoints),
        report=stack.report,
    )


def server_parts(stack: Stack, installation: Installation) -> list[StackPart]:
    return [describe(installation) for name, describe in SERVERS.items() if name in embedded_servers(stack)]


def embedded_servers(stack: Stack) -> frozenset[str]:
    """The servers that this stack starts itself."""
    return stack.only - stack.outside.addresses().keys()


def outside_statuses(outside: OutsideEndpoints) -> list[PartStatus]:
    now = SystemClock().now()
    found = outside.addresses().items()
    return [PartStatus(name, PartKind.SERVER, PartState.OUTSIDE, now, address=address) for name, address in found]
