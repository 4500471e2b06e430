"""What a log must be able to do, and what a consumer brings. Postgres answers it here; Kafka can answer it too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from touchline.contracts.events import Event
from touchline.platform.postgres.database import Transaction


@dataclass(frozen=True, slots=True)
class Batch:
    events: Sequence[Event]
    reached: int  # everything up to here was looked at, whether or not its type was asked for


class EventSource(Protocol):
    """A log of events with gapless positions from 1."""

    async def head(self) -> int:
        """The last position."""
        ...

    async def read(self, after: int, limit: int, types: frozenset[str] | None = None) -> Batch:
        """What follows a position, in order: at most `limit` events, of these types only."""
        ...

    async def wait(self, after: int, at_most: timedelta) -> None:
        """Returns as soon as there is something after a position, or when the time is over."""
        ...


class Handler(Protocol):
    """One consumer: a name for its cursor, the types it wants, and its effects."""

    @property
    def name(self) -> str: ...

    @property
    def types(self) -> frozenset[str] | None: ...

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """Takes events of one tenant, in order, behind that tenant's wall. Commits with the cursor."""
        ...
