"""What the use cases of artifacts and uploads work with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from touchline.kernel import Clock
from touchline.media.sandbox import Sandbox
from touchline.platform.foreground import Foreground
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database

from .settings import ServeSettings


@dataclass(frozen=True, slots=True)
class Environment:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Path  # a folder on a disk: uploads lie there, without a name, while they are looked at
    settings: ServeSettings
    clock: Clock
    foreground: Foreground
