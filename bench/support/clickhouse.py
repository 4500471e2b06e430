"""The product's own embedded ClickHouse, with the limits that it has by default, in a folder of the measurement."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_urlsafe
from socket import socket

from touchline.platform.clickhouse.options import OwnerOptions, owner_command
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.settings import ClickHouseSettings, owner_limits

START_S, STOP_S = 60, 120


@contextmanager
def embedded_clickhouse(folder: Path, settings: ClickHouseSettings) -> Generator[tuple[ClickHouseEndpoint, int]]:
    """Where it answers, and its process."""
    secret = folder / "clickhouse-password"
    if not secret.exists():
        secret.write_text(token_urlsafe(24))
    limits = owner_limits(settings)
    options = OwnerOptions(folder / "clickhouse", _free_port(), secret, settings.user, settings.database, limits)
    with (folder / "clickhouse.log").open("ab") as log:
        process = subprocess.Popen(owner_command(options), stdin=subprocess.DEVNULL, stdout=log, stderr=sys.stderr)
    try:
        _await_port(options.port)
        url = f"http://127.0.0.1:{options.port}"
        yield ClickHouseEndpoint(url, settings.database, settings.user, secret.read_text()), process.pid
    finally:
        process.terminate()
        process.wait(STOP_S)


def _await_port(port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the embedded ClickHouse does not answer")


def _free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def processor_ms(process: int) -> float:
    """What a process has used of all processors so far: it hardly depends on what else the machine does."""
    _, _, rest = Path(f"/proc/{process}/stat").read_text().rpartition(")")
    fields = rest.split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")
