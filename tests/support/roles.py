"""Roles as processes of their own, over the servers that the tests share."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex
from typing import Any

import httpx
import psutil

from tests.support.clickhouse_owner import free_port
from tests.support.stack import ROOT
from tests.support.wait import eventually
from touchline.measure.tables import ensure_tables
from touchline.platform.clickhouse.client import Analytics
from touchline.platform.clickhouse.store import ensure_database
from touchline.platform.endpoints import ClickHouseEndpoint, Endpoints, ObjectsEndpoint, PostgresEndpoint
from touchline.platform.settings import ClickHouseSettings

SECRET = "the secret of this cluster"
READY_S = 120.0
RPC_ROLES = ("registry", "artifacts", "events")
ADDRESSES = {"registry": "REGISTRY_ADDRESS", "artifacts": "ARTIFACTS_ADDRESS", "events": "LIFECYCLE_ADDRESS"}


@asynccontextmanager
async def own_clickhouse(endpoints: Endpoints) -> AsyncGenerator[ClickHouseEndpoint]:
    """A database of its own, with the tables."""
    clickhouse = replace(endpoints.clickhouse, database=f"test_{token_hex(6)}")
    await ensure_database(clickhouse, ClickHouseSettings())
    async with Analytics(clickhouse, ClickHouseSettings()) as analytics:
        await ensure_tables(analytics)
    yield clickhouse


def outside_environment(
    data: Path,
    endpoints: Endpoints,
    postgres: PostgresEndpoint,
    bucket: ObjectsEndpoint,
    clickhouse: ClickHouseEndpoint,
) -> dict[str, str]:
    """For processes that find every server by its address."""
    values = {
        "DATA": str(data),
        "CLUSTER_SECRET": SECRET,
        "POSTGRES_URL": postgres.app_url,
        "POSTGRES_OWNER_URL": postgres.owner_url,
        "POSTGRES_WORKER_URL": postgres.worker_url,
        "OBJECTS_URL": bucket.url,
        "OBJECTS_BUCKET": bucket.bucket,
        "OBJECTS_ACCESS_KEY": bucket.access_key,
        "OBJECTS_SECRET_KEY": bucket.secret_key,
        "CLICKHOUSE_URL": clickhouse.url,
        "CLICKHOUSE_DATABASE": clickhouse.database,
        "CLICKHOUSE_USER": clickhouse.user,
        "CLICKHOUSE_PASSWORD": clickhouse.password,
        "TEMPORAL_ADDRESS": endpoints.temporal.address,
    }
    return {f"TOUCHLINE_{name}": value for name, value in values.items()}


@dataclass
class RoleProcesses:
    folder: Path
    environment: Mapping[str, str]
    ports: dict[str, int] = field(default_factory=dict[str, int])
    health: dict[str, int] = field(default_factory=dict[str, int])
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict[str, "subprocess.Popen[bytes]"])

    def start(self, role: str) -> subprocess.Popen[bytes]:
        """Returns at once."""
        with self._log(role).open("ab") as log:
            command = [sys.executable, "-m", "touchline", "run", role]
            process = subprocess.Popen(command, env=self._environment(role), cwd=ROOT, stdout=log, stderr=log)
        self.running[role] = process
        return process

    def command(self, *arguments: str, **more: str) -> tuple[int, str]:
        """The exit code, and all that it wrote."""
        command = [sys.executable, "-m", "touchline", *arguments]
        own = {**self._environment(""), **{f"TOUCHLINE_{name}": value for name, value in more.items()}}
        done = subprocess.run(command, env=own, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def kill(self, role: str) -> None:
        process = self.running.pop(role)
        process.kill()
        process.wait()

    def stop(self, role: str) -> int:
        process = self.running.pop(role)
        process.send_signal(signal.SIGTERM)
        return process.wait()

    def wait_until_ready(self, *roles: str) -> None:
        for role in roles:
            eventually(lambda role=role: self._is_ready(role), READY_S)

    def memory_mib(self, role: str) -> int:
        return round(psutil.Process(self.running[role].pid).memory_full_info().pss / 1024**2)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['gateway']}"

    def log(self, role: str) -> str:
        return self._log(role).read_text()

    def _is_ready(self, role: str) -> bool:
        assert self.running[role].poll() is None, self.log(role)
        try:
            return httpx.get(f"http://127.0.0.1:{self.health[role]}/health/ready", timeout=10).is_success
        except httpx.TransportError:
            return False

    def _environment(self, role: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHLINE_")}
        own = {f"TOUCHLINE_{ADDRESSES[name]}": f"127.0.0.1:{self.ports[name]}" for name in RPC_ROLES}
        own |= {"TOUCHLINE_GATEWAY_PORT": str(self.ports["gateway"]), "PYTHONPATH": str(ROOT / "src")}
        if role in RPC_ROLES:
            own |= {"TOUCHLINE_RPC_PORT": str(self.ports[role]), "TOUCHLINE_RPC_HEALTH_PORT": str(self.health[role])}
        if role == "worker":
            own["TOUCHLINE_WORKER_PORT"] = str(self.health[role])
        return {**inherited, **self.environment, **own}

    def _log(self, role: str) -> Path:
        return self.folder / f"{role}.log"


@contextmanager
def role_processes(folder: Path, environment: Mapping[str, str]) -> Generator[RoleProcesses]:
    ports = {name: free_port() for name in (*RPC_ROLES, "gateway")}
    health = {name: free_port() for name in (*RPC_ROLES, "worker")} | {"gateway": ports["gateway"]}
    processes = RoleProcesses(folder, environment, ports, health)
    try:
        yield processes
    finally:
        for process in processes.running.values():
            process.kill()
            process.wait()


def graphql(url: str, token: str, document: str, **variables: Any) -> Any:
    """The whole answer, errors included."""
    headers, body = {"Authorization": f"Bearer {token}"}, {"query": document, "variables": variables}
    return httpx.post(f"{url}/api/graphql", json=body, headers=headers, timeout=60).json()
