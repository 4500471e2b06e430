"""The embedded stack as a whole: prepare the folder, describe the parts, supervise them.

Invariant: ports, secrets and data are touched only by the one who holds the lock.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from touchline.kernel import SystemClock
from touchline.kernel.errors import SetupError
from touchline.platform.clickhouse.limits import OwnerLimits
from touchline.platform.endpoints import Endpoints
from touchline.platform.opening import raise_open_files_limit

from . import clickhouse, objects, postgres, temporal
from .endpoints import NOTHING_OUTSIDE, Outside, resolve
from .files import private_folder
from .folder import DataFolder
from .installation import Installation
from .leftovers import end_leftovers, warded
from .lock import hold
from .part import Kind, Part
from .ports import Ports, choose_ports, read_ports
from .role import Role, role_part
from .secrets import Secrets, ensure_secrets, read_secrets
from .settings import StackSettings
from .state import PartState, PartStatus
from .supervisor import Plan, Supervisor
from .users import service_user

GATEWAY_PORT = "gateway"
WORKER_PORT = "worker"
WATCH_PORT = "watch"
BROWSER_PORT = "browser"
ROLE_PORTS = (GATEWAY_PORT, WORKER_PORT, WATCH_PORT, BROWSER_PORT)
CLUSTER_SECRET = "cluster"  # noqa: S105 - the name of one
PORTS = (*postgres.PORTS, *temporal.PORTS, *objects.PORTS, *clickhouse.PORTS, *ROLE_PORTS)
SECRETS = (*postgres.SECRETS, *objects.SECRETS, *clickhouse.SECRETS, CLUSTER_SECRET)
SERVERS: dict[str, Callable[[Installation], Part]] = {
    postgres.NAME: postgres.postgres_part,
    temporal.NAME: temporal.temporal_part,
    objects.NAME: objects.objects_part,
    clickhouse.NAME: clickhouse.clickhouse_part,
}

Hook = Callable[[Endpoints], Awaitable[None]]
NO_OTHER_LIMITS = OwnerLimits()


async def no_hook(endpoints: Endpoints) -> None:
    """Nothing to do at this point."""


@dataclass(frozen=True, slots=True)
class Stack:
    """What to run. `only` leaves servers out: for tests, which need some of them."""

    folder: DataFolder
    settings: StackSettings
    outside: Outside = NOTHING_OUTSIDE
    roles: Callable[[Endpoints], Sequence[Role]] = lambda endpoints: ()
    on_ready: Hook = no_hook
    tell: Callable[[str], None] = lambda text: None
    only: frozenset[str] = frozenset(SERVERS)
    clickhouse: OwnerLimits = NO_OTHER_LIMITS


async def run_stack(stack: Stack) -> None:
    """Everything, until told to stop."""
    if sys.platform != "linux":
        hint = "Run it on Linux, or set the addresses of servers that run elsewhere."
        raise SetupError("the embedded stack needs Linux", why=f"this is {sys.platform}", hint=hint)
    raise_open_files_limit()  # what it starts inherits it, the servers included
    stack.folder.create(service_user(stack.settings.service_user))
    if objects.NAME in embedded(stack):
        objects.require_space(stack.folder, stack.settings)
    with hold(stack.folder):
        await asyncio.to_thread(end_leftovers, stack.folder)
        objects.remove_sockets(read_ports(stack.folder.ports))
        installation = install(stack)
        with _temporary(stack.folder), warded(stack.folder, objects.sockets(installation.ports)):
            await Supervisor(stack.folder, stack.settings, plan(stack, installation)).run()


@contextmanager
def _temporary(folder: DataFolder) -> Generator[None]:
    """Empty at the start, whatever a killed one left, and gone at the end."""
    shutil.rmtree(folder.temporary, ignore_errors=True)
    private_folder(folder.temporary)
    try:
        yield
    finally:
        shutil.rmtree(folder.temporary, ignore_errors=True)


def install(stack: Stack) -> Installation:
    """Ports and secrets: the remembered ones, new ones where there are none."""
    folder = stack.folder
    if not folder.secrets.exists() and (folder.of(postgres.NAME) / "data").exists():
        raise SetupError(
            f"{folder.secrets} is gone",
            why="the databases in this folder were locked with the secrets in it",
            hint="Restore the file from a backup, or start with a new data folder.",
        )
    ports = choose_ports(folder.ports, PORTS, avoid=objects.usurped(read_ports(folder.ports)))
    return _installation(stack, ports, ensure_secrets(folder.secrets, SECRETS))


def installed(stack: Stack) -> Installation | None:
    """What is there, without touching it; None before the first start."""
    ports, secrets = read_ports(stack.folder.ports), read_secrets(stack.folder.secrets)
    complete = ports.keys() >= set(PORTS) and secrets.keys() >= set(SECRETS)
    return _installation(stack, ports, secrets) if complete else None


def _installation(stack: Stack, ports: Ports, secrets: Secrets) -> Installation:
    user = service_user(stack.settings.service_user)
    return Installation(stack.folder, stack.settings, ports, secrets, user, stack.clickhouse)


def plan(stack: Stack, installation: Installation) -> Plan:
    endpoints = resolve(stack.outside, installation.ports, installation.secrets)
    roles = [role_part(role, stack.folder, stack.settings) for role in stack.roles(endpoints)]
    return Plan(
        parts=[*server_parts(stack, installation), *roles],
        outside=outside_statuses(stack.outside),
        on_ready=lambda: stack.on_ready(endpoints),
        tell=stack.tell,
    )


def server_parts(stack: Stack, installation: Installation) -> list[Part]:
    return [describe(installation) for name, describe in SERVERS.items() if name in embedded(stack)]


def embedded(stack: Stack) -> frozenset[str]:
    """The servers that are ours to start."""
    return stack.only - stack.outside.addresses().keys()


def outside_statuses(outside: Outside) -> list[PartStatus]:
    now = SystemClock().now()
    found = outside.addresses().items()
    return [PartStatus(name, Kind.SERVER, PartState.OUTSIDE, now, address=address) for name, address in found]
