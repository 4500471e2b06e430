"""The command line of the owner process, for whoever starts it."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from .limits import OwnerLimits

MODULE = "touchline.platform.clickhouse"


@dataclass(frozen=True, slots=True)
class OwnerOptions:
    data: Path
    port: int
    secret_file: Path  # the password alone; an argument would show in every list of processes
    user: str
    database: str
    limits: OwnerLimits


def owner_command(options: OwnerOptions) -> list[str]:
    values = {**asdict(options), **asdict(options.limits)}
    del values["limits"]
    named = (f"--{name.replace('_', '-')}={value}" for name, value in values.items())
    return [sys.executable, "-m", MODULE, *named]
