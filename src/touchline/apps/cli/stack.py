"""`touchline up`, `down`, `status`, `doctor` and `logs`: the stack of this machine.

`touchline prepare` and `touchline run`: what `up` does on one machine, for machines of their own.

`touchline config`: every setting, its value and where the value comes from. Secrets stay hidden.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .command import AsJson, progress, show, show_json, show_table

if TYPE_CHECKING:
    from touchline.apps.settings import Loaded, Settings
    from touchline.platform.endpoints import Endpoints
    from touchline.platform.stack.folder import DataFolder
    from touchline.platform.stack.logs import LogFollower, LogLine
    from touchline.platform.stack.stack import Stack
    from touchline.platform.stack.status import PartReport, StackReport


commands = typer.Typer()

FOLLOW_EVERY_S = 0.2

Detach = Annotated[
    bool,
    typer.Option(
        "--detach", "-d", help="Run in the background, and return when everything is ready. `touchline down` stops it."
    ),
]
Detached = Annotated[bool, typer.Option("--detached", hidden=True, help="Started by `up --detach`, which greets.")]
PartName = Annotated[
    str, typer.Argument(help="Only logs of this part, like postgres or supervisor. Default: all parts.")
]
Count = Annotated[int, typer.Option("--lines", "-n", min=0, max=1_000_000, help="The number of lines to show.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Keep running, and print new lines as they are written.")]


@commands.command()
def up(detach: Detach = False, as_json: AsJson = False, detached: Detached = False) -> None:
    """Start the servers and the roles on this machine and keep them running. Ctrl-C stops them; pressing it twice
    kills them."""
    from touchline.platform.stack.control import start_detached
    from touchline.platform.stack.stack import no_hook, read_endpoints, run_stack
    from touchline.platform.stack.status import stack_report

    greetings: list[str] = []
    stack = _stack(greetings.append if as_json else show, report=_silently if detached else progress)
    greet = no_hook if detached else stack.on_ready

    async def on_ready(where: Endpoints) -> None:
        await greet(where)
        if as_json:
            show_json({**_status_document(stack_report(stack.folder)), "greeting": greetings})

    if detach:
        start_detached(stack.folder, ["up", "--json", "--detached"], stack.settings, progress)
        asyncio.run(on_ready(read_endpoints(stack.folder, stack.outside)))
    else:
        asyncio.run(run_stack(replace(stack, on_ready=on_ready)))


@commands.command()
def down(as_json: AsJson = False) -> None:
    """Stop the stack of this data folder and wait until it has stopped. Run it again to kill what is left."""
    from touchline.platform.stack.control import stop_running

    stopped = stop_running(_folder(), _settings().stack, progress)
    if as_json:
        show_json({"stopped": stopped})
    elif not stopped:
        show("the stack was not running")


@commands.command()
def status(as_json: AsJson = False) -> int:
    """Show the state, process, address, restarts and memory of every part. The exit code is 7 unless all are ready."""
    found = asyncio.run(_status())
    if as_json:
        show_json(_status_document(found))
    else:
        _show_status(found)
    return 0 if found.all_ready else 7


@commands.command()
def doctor(as_json: AsJson = False) -> int:
    """Check this installation for problems, and show how to fix them. The exit code is 8 if a check fails."""
    from touchline.apps.doctor import examine
    from touchline.apps.settings import load
    from touchline.platform.stack.doctor import FindingLevel

    findings = asyncio.run(examine(load()))
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            show(f"{finding.level:4}  {finding.check}: {finding.what}")
            for name, text in (("why", finding.why), ("fix", finding.fix)):
                if text:
                    show(f"      {name}: {text}")
    return 8 if any(finding.level is FindingLevel.FAIL for finding in findings) else 0


@commands.command()
def logs(part: PartName = "", count: Count = 50, follow: Follow = False, as_json: AsJson = False) -> None:
    """Show the last log lines of the parts, and new ones with --follow."""
    from touchline.kernel import InvalidInput
    from touchline.platform.stack.logs import LogFollower, log_names, recent_lines

    if follow and as_json:
        raise InvalidInput("--follow and --json exclude each other", why="--json cannot be used with --follow")
    folder = _folder()
    names = log_names(folder.logs, part)
    followers = [LogFollower(folder.log(name), name) for name in names] if follow else []
    lines = recent_lines(folder.logs, names, count)
    if as_json:
        show_json([asdict(line) for line in lines])
        return
    for line in lines:
        _show_line(line)
    while followers:
        _show_new(followers)
        time.sleep(FOLLOW_EVERY_S)


async def _status() -> StackReport:
    """The parts of this machine, and the roles at addresses that are set."""
    from touchline.apps.settings import load
    from touchline.platform.stack.folder import DataFolder
    from touchline.platform.stack.status import probe_roles, stack_report

    loaded = load()
    found = await probe_roles(stack_report(DataFolder(loaded.settings.data)))
    settings = loaded.settings
    if not (settings.registry.address or settings.artifacts.address or settings.lifecycle.address):
        return found
    from touchline.apps.doctor import ask_addresses, part_of  # a second to load

    return replace(found, parts=(*found.parts, *map(part_of, await ask_addresses(loaded))))


def _silently(text: str) -> None:
    """The supervisor's log has it as well."""


def _stack(greet: Callable[[str], None], report: Callable[[str], None] = progress) -> Stack:
    from touchline.apps import up as composition
    from touchline.apps.settings import load

    return composition.stack(load(), report, greet)


def _settings() -> Settings:
    from touchline.apps.settings import load

    return load().settings


def _folder() -> DataFolder:
    from touchline.platform.stack.folder import DataFolder

    return DataFolder(_settings().data)


def _status_document(found: StackReport) -> dict[str, Any]:
    parts = [{**asdict(part.status), "memory_bytes": part.memory_bytes} for part in found.parts]
    return {**asdict(found), "ready": found.all_ready, "parts": parts}


def _show_status(found: StackReport) -> None:
    show(" ".join(filter(None, [f"{found.data} is {found.phase}", found.detail and f"({found.detail})"])))
    if not found.parts:
        return
    rows = [_row(part) for part in found.parts]
    if found.pid:
        memory = _mebibytes(found.memory_bytes)
        rows.append(["supervisor", found.phase, str(found.pid), _age(found.since), "0", memory, ""])
    show_table(["PART", "STATE", "PROCESS", "SINCE", "RESTARTS", "MEMORY", "ADDRESS"], rows)
    for part in found.parts:
        if part.status.detail:
            show(f"{part.status.name}: {part.status.detail}")


def _row(part: PartReport) -> list[str]:
    status, memory = part.status, _mebibytes(part.memory_bytes)
    process, age = str(status.pid or "-"), _age(status.since)
    return [status.name, status.state, process, age, str(status.restarts), memory, status.address]


def _mebibytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MiB" if size else "-"


def _age(since: datetime | None) -> str:
    if since is None:
        return "-"
    seconds = int((datetime.now(UTC) - since).total_seconds())
    for unit, length in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"


def _show_line(line: LogLine) -> None:
    show(f"{line.at} {line.part:10} {line.text}")


def _show_new(followers: list[LogFollower]) -> None:
    for follower in followers:
        for line in follower.poll():
            _show_line(line)


class RoleName(StrEnum):
    CONTROL = "control"
    REGISTRY = "registry"
    ARTIFACTS = "artifacts"
    EVENTS = "events"
    GATEWAY = "gateway"
    NODE = "node"
    WORKER = "worker"
    WATCH = "watch"
    BROWSER = "browser"


@commands.command()
def prepare(as_json: AsJson = False) -> None:
    """Create or upgrade the schemas, the bucket and everything else that the roles need. Safe to repeat."""
    from touchline.apps import planes as preparing
    from touchline.apps.settings import load

    applied = asyncio.run(preparing.prepare(load(), progress))
    if as_json:
        show_json({"applied": [str(migration) for migration in applied]})


@commands.command()
def run(
    role: Annotated[RoleName, typer.Argument(help="The role to run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Write logs as JSON lines, also on a terminal.")] = False,
) -> None:
    """Run one role in the foreground. `up` does this for you.

    `control` is registry, artifacts, events and gateway in one process, and prepares the schemas. The four also run as
    processes of their own, any number of each, after `touchline prepare`; they find each other by registry.address,
    artifacts.address and lifecycle.address. Exit code 7: no process answers at such an address; 8: a setting is wrong.
    """
    from touchline.apps import logging
    from touchline.apps.settings import load
    from touchline.platform.files import raise_open_files_limit

    raise_open_files_limit()
    loaded = load()
    chosen = {"format": logging.Format.JSON} if as_json else {}
    logging.configure(role, loaded.settings.log.model_copy(update=chosen))
    asyncio.run(_role(role)(loaded))


def _role(name: RoleName) -> Callable[[Loaded], Coroutine[Any, Any, None]]:
    match name:
        case RoleName.CONTROL:
            from touchline.apps.control import run_control

            return run_control
        case RoleName.REGISTRY | RoleName.ARTIFACTS | RoleName.EVENTS | RoleName.GATEWAY:
            from touchline.apps.control import role_runner
            from touchline.apps.planes import ControlRole

            return role_runner(ControlRole(name))
        case RoleName.NODE:
            from touchline.apps.node import run_node

            return run_node
        case RoleName.WORKER:
            from touchline.apps.worker import run_worker

            return run_worker
        case RoleName.WATCH:
            from touchline.apps.watch import run_watch

            return run_watch
        case RoleName.BROWSER:
            from touchline.apps.browser import run_browser

            return run_browser


@commands.command()
def config(as_json: AsJson = False) -> None:
    """Print every setting with its value, its source and its meaning."""
    from touchline.apps.settings import explain, load

    entries = explain(load())
    if as_json:
        show_json([entry.document() for entry in entries])
        return
    for entry in entries:
        show(f"{entry.name} = {entry.text}   ({entry.source})\n    {entry.description}")
