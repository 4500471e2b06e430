"""One piece of work of a command on the database of this installation."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from touchline.apps.settings import Settings
    from touchline.platform.postgres.database import Database

Result = TypeVar("Result")


def with_database(work: Callable[[Database, Settings], Awaitable[Result]]) -> Result:
    from touchline.apps.settings import load
    from touchline.apps.wiring import open_database

    loaded = load()

    async def working() -> Result:
        async with open_database(loaded) as database:
            return await work(database, loaded.settings)

    return asyncio.run(working())
