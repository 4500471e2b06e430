"""What an operator decides on events that a consumer could not process."""

from __future__ import annotations

from touchline.kernel import NotFound
from touchline.platform.postgres.database import Database

from .store import ConsumerStore


async def retry_set_aside(database: Database, consumer: str, position: int) -> None:
    """The consumer processes it again at its next turn, out of order."""
    await _decide(database, consumer, position, "retry")


async def dismiss_set_aside(database: Database, consumer: str, position: int) -> None:
    await _decide(database, consumer, position, "dismissed")


async def _decide(database: Database, consumer: str, position: int, state: str) -> None:
    async with database.system("decide on an event that was set aside") as transaction:
        if not await ConsumerStore(transaction.connection, consumer).decide(position, state):
            raise NotFound(f"{consumer} has no event set aside at position {position}")
