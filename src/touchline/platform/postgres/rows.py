"""Rows as values: the columns of a statement are the named arguments of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, LiteralString, TypeVar

from psycopg import AsyncConnection
from psycopg.rows import kwargs_row

Row = TypeVar("Row")


async def fetch_one(
    connection: AsyncConnection[Any], make: Callable[..., Row], query: LiteralString, **values: Any
) -> Row | None:
    async with connection.cursor(row_factory=kwargs_row(make)) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchone()


async def fetch_all(
    connection: AsyncConnection[Any], make: Callable[..., Row], query: LiteralString, **values: Any
) -> Sequence[Row]:
    async with connection.cursor(row_factory=kwargs_row(make)) as cursor:
        await cursor.execute(query, values)
        return await cursor.fetchall()
