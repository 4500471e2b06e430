"""One installation: its folder with ports and secrets, and what it may use."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.platform.clickhouse.limits import OwnerLimits

from .folder import DataFolder
from .ports import Ports
from .secrets import Secrets
from .settings import StackSettings
from .users import ServiceUser


@dataclass(frozen=True, slots=True)
class Installation:
    folder: DataFolder
    settings: StackSettings
    ports: Ports
    secrets: Secrets
    user: ServiceUser | None
    clickhouse: OwnerLimits
