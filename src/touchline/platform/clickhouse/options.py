"""The limits of the owner process, and the command line that starts it.

Every limit is a plain integer, so that it can be an argument. The owner imports this, so it stays small.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from pathlib import Path

MIB = 1024**2


@dataclass(frozen=True, slots=True)
class OwnerLimits:
    memory_bytes: int = 768 * MIB  # of all statements and merges in total, beyond the idle process
    statement_memory_bytes: int = 512 * MIB
    threads: int = 2
    concurrent_statements: int = 8
    queue_wait_ms: int = 5_000
    longest_statement_s: int = 60
    statement_bytes: int = 1 * MIB  # the text alone
    insert_bytes: int = 256 * MIB  # after decompression
    result_bytes: int = 128 * MIB
    stop_grace_s: int = 2


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
