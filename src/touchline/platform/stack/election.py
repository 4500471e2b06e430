"""The first election of SeaweedFS's master, held before the whole server starts.

The server's pieces start together, and in a new folder the volumes often report before there is a leader; they then
wait five seconds to try again. A master that was elected once is leader at once at every later start.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .ports import LOOPBACK
from .probes import answering, ask
from .process import Launch, tethered

LIMIT_S = 10
OPTIONS = ("-electionTimeout=200ms", "-heartbeatInterval=100ms", "-telemetry=false")


@dataclass(frozen=True, slots=True)
class Master:
    port: int
    grpc_port: int
    tls: ssl.SSLContext  # it answers nobody else


async def hold_first_election(weed: Path, launch: Launch, where: Master) -> None:
    """Quick to return when it was held. If it does not come about here, the server holds it by itself, just later."""
    port, grpc_port = where.port, where.grpc_port
    if (launch.folder / "data" / f"m{port}").exists():
        return
    arguments = [f"-port={port}", f"-port.grpc={grpc_port}", f"-ip={LOOPBACK}", f"-ip.bind={LOOPBACK}", "-mdir=data"]
    command: Sequence[str] = [str(weed), "-logtostderr=true", "master", *arguments, *OPTIONS]
    master = _start(Launch(command, launch.folder, launch.environment))
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(LIMIT_S):
                await answering(lambda: _check_leader(port, where.tls), lambda why: None)
    finally:
        master.kill()
        master.wait()


def _start(launch: Launch) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        tethered(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


async def _check_leader(port: int, tls: ssl.SSLContext) -> None:
    answer = await ask("GET", f"https://{LOOPBACK}:{port}/cluster/status", tls=tls)
    if not json.loads(answer.body).get("IsLeader"):
        raise LookupError("no leader yet")
