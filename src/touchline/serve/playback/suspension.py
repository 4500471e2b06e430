"""Which tenants are suspended, for whoever sends media: gateways, and the artifacts role, which tells the nodes.

Invariant: what is believed is a few seconds old. While the database is away nobody can suspend anybody, and what was
known last holds for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from touchline.kernel import Clock, TenantId, Unavailable

TRUST_FOR = timedelta(seconds=3)  # a suspension must end playback within ten
LONGEST_TRUST = timedelta(minutes=5)  # while whoever knows is away

FindSuspended = Callable[[], Awaitable[frozenset[TenantId]]]


class SuspendedTenants:
    """All of them, read again when they were read a few seconds ago: there are few, and one index holds them."""

    def __init__(self, find: FindSuspended, clock: Clock) -> None:
        self._find = find
        self._clock = clock
        self._known: frozenset[TenantId] = frozenset()
        self._read_at: datetime | None = None
        self._reading = asyncio.Lock()

    async def contains(self, tenant_id: TenantId) -> bool:
        return tenant_id in await self.all()

    async def all(self) -> frozenset[TenantId]:
        if not self._is_younger_than(TRUST_FOR):
            async with self._reading:  # many requests at once find it old: one reads
                if not self._is_younger_than(TRUST_FOR):
                    await self._read()
        return self._known

    async def _read(self) -> None:
        now = self._clock.now()
        try:
            self._known = await self._find()
        except Unavailable:
            if not self._is_younger_than(LONGEST_TRUST):
                raise
        else:
            self._read_at = now

    def _is_younger_than(self, age: timedelta) -> bool:
        return self._read_at is not None and self._clock.now() - self._read_at <= age
