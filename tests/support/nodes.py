"""Nodes as processes of their own, each with its folder and its port, against an artifacts role of the test's own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

from tests.support.clickhouse_owner import free_port
from tests.support.stack import ROOT
from tests.support.wait import eventually
from touchline.platform.endpoints import ObjectsEndpoint

READY_S = 300.0
OK = 200


@dataclass(frozen=True)
class Answer:
    status_code: int
    content: bytes
    headers: Mapping[str, str]


@dataclass
class NodeProcess:
    node_id: str
    folder: Path
    port: int
    environment: Mapping[str, str]
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self.folder.with_suffix(".log").read_text()

    def start(self, **settings: str) -> None:
        """Returns at once. Settings as in the environment, without their prefix."""
        own = {f"TOUCHLINE_NODE_{name}": value for name, value in settings.items()}
        with self.folder.with_suffix(".log").open("ab") as log:
            command = [sys.executable, "-m", "touchline", "run", "node"]
            environment = {**self.environment, **own}
            self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)

    def wait_until_ready(self) -> None:
        eventually(self.is_ready, READY_S)

    def is_ready(self) -> bool:
        assert self.process
        assert self.process.poll() is None, self.log
        try:
            return self.get("/health/ready").status_code == OK
        except OSError:
            return False

    def get(self, path: str, **headers: str) -> Answer:
        """As it is written: nobody normalises the path on its way."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path, headers=headers)
            found = connection.getresponse()
            return Answer(found.status, found.read(), {name.lower(): value for name, value in found.getheaders()})
        finally:
            connection.close()

    def kill(self) -> None:
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()

    def wait_for_end(self) -> int:
        """Of a process that ends by itself."""
        assert self.process
        return self.process.wait(READY_S)

    def close(self) -> None:
        if self.process and self.process.poll() is None:
            self.kill()


@dataclass
class NodeLab:
    folder: Path
    environment: Mapping[str, str]
    nodes: list[NodeProcess] = field(default_factory=list[NodeProcess])

    def node(self, node_id: str, folder: str = "", **settings: str) -> NodeProcess:
        """Not started yet."""
        place = self.folder / (folder or node_id)
        place.mkdir(parents=True, exist_ok=True)
        port = free_port()
        own = {"ID": node_id, "FOLDER": str(place), "PORT": str(port), **settings}
        named = {f"TOUCHLINE_NODE_{name}": value for name, value in own.items()}
        node = NodeProcess(node_id, place, port, {**self.environment, **named})
        self.nodes.append(node)
        return node

    def start(self, *node_ids: str, **settings: str) -> list[NodeProcess]:
        """All at once, and until they are ready."""
        nodes = [self.node(node_id, **settings) for node_id in node_ids]
        for node in nodes:
            node.start()
        for node in nodes:
            node.wait_until_ready()
        return nodes


@contextmanager
def node_lab(folder: Path, artifacts_address: str, secret: str, objects: ObjectsEndpoint) -> Generator[NodeLab]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHLINE_")}
    own = {
        "DATA": str(folder / "data"),
        "CLUSTER_SECRET": secret,
        "ARTIFACTS_ADDRESS": artifacts_address,
        "RPC_START_TIMEOUT": "5m",  # a busy machine is no finding
        "OBJECTS_URL": objects.url,
        "OBJECTS_BUCKET": objects.bucket,
        "OBJECTS_ACCESS_KEY": objects.access_key,
        "OBJECTS_SECRET_KEY": objects.secret_key,
    }
    environment = {**inherited, "PYTHONPATH": str(ROOT / "src")}
    lab = NodeLab(folder, environment | {f"TOUCHLINE_{name}": value for name, value in own.items()})
    try:
        yield lab
    finally:
        for node in lab.nodes:
            node.close()
