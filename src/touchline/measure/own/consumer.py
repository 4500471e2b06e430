"""Hands what our log says about our own work to those who take workflow events.

Invariant: the cursor moves only when everything before it was taken. A batch that comes again has the same name and the
same records; cut otherwise, it has the same records under the same ids, and they are duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from touchline.contracts.events import Event
from touchline.kernel import TenantId
from touchline.platform.postgres.database import Transaction

from .rules import TYPES, records_of

_encode = msgspec.json.Encoder().encode


class Sink(Protocol):
    """Whoever takes workflow events. It returns when they are stored."""

    async def deliver(self, tenant_id: TenantId, batch_id: str, records: Sequence[bytes], /) -> object: ...


def encoded(events: Iterable[Event]) -> list[bytes]:
    return [_encode(record) for event in events for record in records_of(event)]


class OwnSessions:
    name = "own_sessions"
    types: frozenset[str] | None = TYPES

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One delivery for all. Everything is read before anything is delivered."""
        if records := encoded(events):
            batch_id = f"log-{events[0].position}-{events[-1].position}"
            await self._sink.deliver(transaction.tenant_id, batch_id, records)
