"""What the commands on events and facts share: whose they are, and how counters are shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from .output import show

if TYPE_CHECKING:
    from touchline.apps.measuring import Measuring
    from touchline.measure.ingest.rules import RecordCounts

Result = TypeVar("Result")
Tenant = Annotated[str, typer.Option("--tenant", help="The slug of the tenant whose events they are.")]
DEFAULT = "default"


def with_measuring(tenant: str, work: Callable[[Measuring], Awaitable[Result]]) -> Result:
    from touchline.apps.measuring import open_measuring
    from touchline.apps.settings import load

    async def working() -> Result:
        async with open_measuring(load(), tenant) as measuring:
            return await work(measuring)

    return asyncio.run(working())


def show_counted(counted: RecordCounts) -> None:
    counters = counted.counters
    show(
        f"{counters.raw} raw = {counters.accepted} accepted + {counters.duplicate} duplicate + "
        f"{counters.ignored} ignored + {counters.quarantined} quarantined"
    )
    for reason, count in counted.reasons.items():
        show(f"  {count:>8}  {reason}")
