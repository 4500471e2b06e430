"""The embedded PostgreSQL alone, as the product starts it, durable, with the product's schemas."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg

from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.migrations import migrate
from touchline.platform.settings import StackSettings
from touchline.platform.stack import postgres
from touchline.platform.stack.folder import DataFolder, service_user
from touchline.platform.stack.process import guarded_command
from touchline.platform.stack.stack import NOTHING_OUTSIDE, Stack, prepare_installation

PASSABLE = 0o711


@asynccontextmanager
async def embedded_postgres(kept: Path | None = None) -> AsyncGenerator[tuple[PostgresEndpoint, str]]:
    """Where it answers, and the superuser's address. What lies in a folder that is kept is there the next time."""
    root = kept or _root()
    only = Stack(
        folder=DataFolder(root / "data"),
        settings=StackSettings(),
        outside=NOTHING_OUTSIDE,
        roles=lambda endpoints: [],
        only=frozenset({"postgres"}),
    )
    only.folder.create(service_user(only.settings.service_user))
    installation = prepare_installation(only)
    part = postgres.postgres_part(installation)
    await part.before_start()
    launch = part.launch
    process = await asyncio.create_subprocess_exec(
        *guarded_command(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await _answers(part)
        await part.after_start()
        where = postgres.endpoint(installation.ports, installation.secrets)
        await migrate(where.owner_url)
        yield where, postgres.superuser_url(installation.ports, installation.secrets)
    finally:
        os.kill(process.pid, signal.SIGINT if kept else signal.SIGQUIT)
        await process.wait()
        if kept is None:
            shutil.rmtree(root)


def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="touchline-bench-"))
    root.chmod(PASSABLE)
    return root


async def _answers(part: postgres.StackPart) -> None:
    while True:
        try:
            return await part.probe()
        except psycopg.Error:
            await asyncio.sleep(0.05)
