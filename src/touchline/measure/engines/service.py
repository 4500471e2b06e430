"""One build from inputs to a folder of facts, by either engine."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from touchline.measure.sessions.rules import Rules

from . import batch, incremental
from .collecting import uncollected
from .inputs import plain_files
from .model import ANY_TIME, Engine, Received, Source, Tell, report_of
from .outputs import drafted, write, write_report


@dataclass(frozen=True, slots=True)
class Order:
    """`state` keeps what an incremental build has stored, so that a build that was killed goes on where it was."""

    inputs: tuple[str, ...]
    out: Path
    engine: Engine = Engine.INCREMENTAL
    state: Path | None = None
    force: bool = False
    received: Received = ANY_TIME


def build(order: Order, rules: Rules, tell: Tell) -> dict[str, Any]:
    """The report, which also lies in the folder."""
    with uncollected(), drafted(order.out, force=order.force) as draft, ExitStack() as stack:
        work = draft / "work"
        sources = (Source(name, path) for name, path in plain_files(order.inputs, work))
        if order.engine is Engine.BATCH:
            built = batch.build(list(sources), work, rules, tell, received=order.received)
        else:
            stored = incremental.Stored(order.state or work / "state", durable=order.state is not None)
            built = stack.enter_context(incremental.build(sources, stored, rules, tell, received=order.received))
        report = report_of(built, write(draft, built.sessions, built.quarantine))
        write_report(draft, report)
    return report
