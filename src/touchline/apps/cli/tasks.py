"""`touchline tasks`: the periodic work of this installation."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from .output import AsJson, show_json, show_table
from .work import with_database

if TYPE_CHECKING:
    from touchline.platform.periodic.store import PeriodicTaskStatus

commands = typer.Typer()


@commands.command()
def tasks(as_json: AsJson = False) -> None:
    """List the periodic tasks: their next run, the process that runs them, and their last failure."""
    from touchline.platform.periodic import store

    found = with_database(lambda database, _: store.list_tasks(database))
    if as_json:
        show_json([asdict(task) for task in found])
    else:
        show_table(["TASK", "EVERY", "NEXT RUN", "STATE", "LAST ERROR"], [_row(task) for task in found])


def _row(task: PeriodicTaskStatus) -> list[str]:
    failed = f"failed {task.failures} times" if task.failures else "waiting"
    idle = f"limit reached, more is waiting since {task.limited_since:%F %T}" if task.limited_since else failed
    state = f"running in {task.claimed_by}" if task.running else idle
    return [task.name, str(task.every), f"{task.next_run_at:%F %T}", state, task.last_error or "-"]
