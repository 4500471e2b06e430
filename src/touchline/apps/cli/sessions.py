"""`touchline sessions build`: session facts from files, without any server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import AsJson, progress, show, show_json

commands = typer.Typer(help="Make session facts of events, and ask about them.", no_args_is_help=True)

Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Files or folders of events, `-` for standard input: JSON lines, an array or an export; gzip or plain.",
    ),
]
Out = Annotated[Path, typer.Option("--out", help="The folder to write. It appears when it is complete.")]
EngineName = Annotated[str, typer.Option("--engine", help="incremental or batch: the same facts either way.")]
State = Annotated[
    Path | None,
    typer.Option("--state", help="Keep what the incremental engine has stored here; a build that was killed goes on."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what lies at the place, whatever it is.")]


@commands.callback()
def sessions() -> None:
    """Make session facts of events, and ask about them."""


@commands.command()
def build(
    inputs: Inputs,
    out: Out,
    engine: EngineName = "incremental",
    state: State = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fold events into the tables of session facts, as JSON lines in a folder."""
    from touchline.apps.settings import load
    from touchline.kernel.clock import SystemClock
    from touchline.kernel.errors import InvalidInput
    from touchline.measure.engines.model import Engine, Received
    from touchline.measure.engines.service import Order
    from touchline.measure.engines.service import build as build_facts
    from touchline.measure.sessions.rules import Rules

    if engine not in list(Engine):
        raise InvalidInput(f"there is no engine {engine}", field="engine", hint="Take incremental or batch.")
    if state and engine != Engine.INCREMENTAL:
        raise InvalidInput("only the incremental engine has a state", field="state", hint="Leave --state out.")
    settings = load().settings
    received = Received.at(SystemClock().now(), settings.ingest.max_ahead)
    order = Order(tuple(inputs), out, Engine(engine), state, force, received)
    report = build_facts(order, Rules.of(settings.sessions), progress)
    if as_json:
        show_json(report)
        return
    show(f"{out}: {report['sessions']} sessions of {report['accepted']} events")
    show(
        f"{report['raw']} records: {report['duplicate']} duplicate, {report['ignored']} ignored, "
        f"{report['quarantined']} quarantined"
    )
