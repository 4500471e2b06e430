"""The real owner of an embedded ClickHouse, as its own process in a folder of the test."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_urlsafe

from touchline.platform.clickhouse.options import OwnerLimits, OwnerOptions, owner_command
from touchline.platform.endpoints import ClickHouseEndpoint
from touchline.platform.stack.part import http_probe, probe_error

from .small_disk import SmallDisk, mounted, seen_by

USER = "touchline"
DATABASE = "touchline"
START_S = 60.0
STOP_S = 60.0


@dataclass(frozen=True, slots=True)
class RunningOwner:
    process: asyncio.subprocess.Process
    options: OwnerOptions
    password: str = field(repr=False)
    log: Path

    @property
    def endpoint(self) -> ClickHouseEndpoint:
        return ClickHouseEndpoint(f"http://127.0.0.1:{self.options.port}", DATABASE, USER, self.password)

    async def stop(self) -> int:
        """Ask it to end, and answer its exit code."""
        return await self.end(signal.SIGTERM)

    async def kill(self) -> None:
        await self.end(signal.SIGKILL)

    async def end(self, number: signal.Signals) -> int:
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(STOP_S):
            return await self.process.wait()


def owner_options(folder: Path, limits: OwnerLimits | None = None) -> OwnerOptions:
    """Everything for an owner in this folder; the password is made if there is none yet."""
    secret_file = folder / "clickhouse-password"
    if not secret_file.exists():
        secret_file.write_text(token_urlsafe(24))
    data = folder / "clickhouse"
    return OwnerOptions(data, free_port(), secret_file, USER, DATABASE, limits or OwnerLimits())


async def launch_owner(options: OwnerOptions, before: Sequence[str] = ()) -> RunningOwner:
    """Starts the process and does not wait for anything."""
    command = [*before, *owner_command(options)]
    log = options.secret_file.with_name("clickhouse.log")
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=environment()
        )
    return RunningOwner(process, options, options.secret_file.read_text(), log)


async def start_owner(options: OwnerOptions, before: Sequence[str] = ()) -> RunningOwner:
    """Starts the process and waits until it answers."""
    owner = await launch_owner(options, before)
    try:
        await until(lambda: _answers(owner), START_S)
    except BaseException:
        await owner.kill()
        raise
    return owner


@asynccontextmanager
async def owner_on_small_disk(folder: Path, size_mib: int) -> AsyncGenerator[tuple[RunningOwner, SmallDisk]]:
    options = owner_options(folder)
    options.data.mkdir()
    owner = await start_owner(options, mounted(options.data, size_mib))
    try:
        yield owner, SmallDisk(seen_by(owner.process.pid, options.data))
    finally:
        await owner.stop()


@asynccontextmanager
async def running_owner(folder: Path, limits: OwnerLimits | None = None) -> AsyncGenerator[RunningOwner]:
    owner = await start_owner(owner_options(folder, limits))
    try:
        yield owner
    finally:
        await owner.stop()


async def until(condition: Callable[[], Awaitable[bool]], deadline_s: float = 60.0) -> None:
    async with asyncio.timeout(deadline_s):
        while not await condition():
            await asyncio.sleep(0.02)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment() -> dict[str, str]:
    """As little as it needs, and our sources: the package need not be installed."""
    sources = Path(__file__).parents[2] / "src"
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(sources)}


async def _answers(owner: RunningOwner) -> bool:
    assert owner.process.returncode is None, owner.log.read_text()
    return not await probe_error(http_probe(f"{owner.endpoint.url}/ping"))
