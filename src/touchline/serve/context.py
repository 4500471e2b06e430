"""What the use cases of artifacts and uploads work with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

from touchline.kernel import Clock, TenantId
from touchline.media.sandbox import Sandbox
from touchline.platform.foreground import Foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups

from .playback.suspension import FindSuspended
from .settings import ServeSettings

# What the use cases of artifacts and uploads work with.


@dataclass(frozen=True, slots=True)
class ServeContext:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Path  # a folder on a disk: uploads lie there, without a name, while they are looked at
    settings: ServeSettings
    clock: Clock
    foreground: Foreground
    find_suspended: FindSuspended
    wakeups: Wakeups | None = None  # listening on `nodes.store.CHANNEL`; without: commands are looked for by the second


class TierContext(Protocol):
    """As much of it as moving copies needs: `fsck` has no more."""

    @property
    def database(self) -> Database: ...
    @property
    def objects(self) -> ObjectStore: ...
    @property
    def settings(self) -> ServeSettings: ...
    @property
    def clock(self) -> Clock: ...


# Where the application looks from before it knows the tenant, and for what belongs to no tenant.

WITHOUT_TENANT = TenantId(UUID(int=0))  # no tenant has it: row-level security shows it nothing
