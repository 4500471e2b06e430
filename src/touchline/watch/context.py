"""What every activity of watch stands on: the tables, the objects, the clock, and to whom all of it belongs."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.contracts.tenants import Owner
from touchline.kernel import Clock
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database


@dataclass(frozen=True, slots=True)
class WatchContext:
    database: Database
    objects: ObjectStore
    owner: Owner  # the watch tenant, and the user who answers for its videos
    clock: Clock
