"""`touchline prepare` and `touchline run`: what `up` does on one machine, for machines of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import AsJson, progress, show_json

if TYPE_CHECKING:
    from touchline.apps.settings import Loaded

commands = typer.Typer()


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
    from touchline.apps import prepare as preparing
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
    artifacts.address and lifecycle.address. Exit code 7: nobody answers at such an address; 8: a setting is wrong.
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
