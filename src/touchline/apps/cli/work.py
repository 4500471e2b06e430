"""What a command does directly on the database and ClickHouse of this installation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from touchline.apps.measure_services import MeasureServices
    from touchline.apps.settings import Settings
    from touchline.platform.postgres.database import Database

Result = TypeVar("Result")
Tenant = Annotated[str, typer.Option("--tenant", help="The slug of the tenant that owns the events.")]
DEFAULT_TENANT = "default"


def with_database(work: Callable[[Database, Settings], Awaitable[Result]]) -> Result:
    from touchline.apps.settings import load
    from touchline.apps.wiring import open_database

    loaded = load()

    async def working() -> Result:
        async with open_database(loaded) as database:
            return await work(database, loaded.settings)

    return asyncio.run(working())


def with_measure(tenant: str, work: Callable[[MeasureServices], Awaitable[Result]]) -> Result:
    from touchline.apps.measure_services import open_measure
    from touchline.apps.settings import load

    async def working() -> Result:
        async with open_measure(load(), tenant) as measure:
            return await work(measure)

    return asyncio.run(working())
