"""The product as `touchline up` runs it from the wheel alone: the page inside, nothing of the checkout needed.

Its leases are short enough that a death is noticed soon.
"""

from __future__ import annotations

import asyncio
import compileall
import resource
import subprocess
import sys
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, LiteralString
from urllib.parse import urlsplit

import httpx
from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.sql import SQL, Identifier

from tests.support.clickhouse_owner import free_port
from tests.support.installation import Installation, temporary_installation
from tests.support.stack import ROOT
from touchline.platform.objects.store import ObjectStore
from touchline.platform.settings import ObjectsSettings
from touchline.platform.stack import postgres
from touchline.platform.stack.folder import read_ports, read_secrets
from touchline.platform.stack.stack import NOTHING_OUTSIDE, read_endpoints

OPERATOR = "admin@localhost"
USUAL_FILES = 1024
TIMEOUT_S = 60.0  # a busy machine is no finding
RTMP_PORT, SRT_PORT = free_port(), free_port()  # several products may start at once, and each would like the usual one
ENVIRONMENT = {
    "TOUCHLINE_PUBLISH_RTMP_PORT": str(RTMP_PORT),
    "TOUCHLINE_PUBLISH_SRT_PORT": str(SRT_PORT),
    "TOUCHLINE_LIVE_POSTER_INTERVAL": "1s",
    "TOUCHLINE_STACK_OBJECTS_VOLUME_SIZE": "64MiB",
    "TOUCHLINE_SERVE_LARGEST_UPLOAD": "100MiB",
    "TOUCHLINE_PROCESS_SAMPLE_FPS": "2",  # every upload is read, and others wait for it
    "TOUCHLINE_WORKER_LEASE": "3s",
    "TOUCHLINE_WORKER_HEARTBEAT_INTERVAL": "1s",
    "TOUCHLINE_WORKER_RECLAIM_INTERVAL": "1s",
    "TOUCHLINE_EVENTS_GATHER": "0s",
    "TOUCHLINE_INGEST_FOLD_GATHER": "0s",
}


@dataclass(frozen=True)
class Product:
    installation: Installation
    greeted: Any  # what `up` said at its first start
    sign_in_link: str
    url: str

    def upload(self, *arguments: str) -> tuple[int, Any]:
        return self.installation.run("upload", *arguments)

    @cached_property
    def token(self) -> str:
        arguments = ["tokens", "create", "test", "--user", OPERATOR, "--scope", "read", "--scope", "write"]
        code, document = self.installation.run(*arguments)
        assert code == 0, document
        return document["token"]

    def graphql(self, document: str, **variables: Any) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        body = {"query": document, "variables": variables}
        answer = httpx.post(f"{self.url}/api/graphql", json=body, headers=headers, timeout=TIMEOUT_S).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def rows(self, query: LiteralString, *values: Any) -> list[dict[str, Any]]:
        """What the database holds, past every wall. Values by place, or one mapping of them by name."""
        with Connection[dict[str, Any]].connect(self._database, row_factory=dict_row) as connection:
            named = values[0] if len(values) == 1 and isinstance(values[0], Mapping) else values
            return connection.execute(query, named).fetchall()

    @contextmanager
    def locked(self, table: LiteralString) -> Generator[None]:
        """Whoever wants anything of this table waits."""
        with Connection[Any].connect(self._database) as connection:
            connection.execute(SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(Identifier(*table.split("."))))
            yield

    @property
    def _database(self) -> str:
        folder = self.installation.folder
        return postgres.url(read_ports(folder.ports), read_secrets(folder.secrets), postgres.SUPERUSER)

    async def objects(self, prefix: str) -> list[str]:
        async with self._store() as store:
            return [found.key for found in (await store.list(prefix)).objects]

    async def lose(self, prefix: str) -> None:
        """Takes objects away behind the product's back."""
        async with self._store() as store:
            await store.delete_prefix(prefix)

    async def delete(self, artifact_hash: str) -> None:
        document = "mutation ($hash: String!) { deleteVod(artifactHash: $hash) { __typename } }"
        await asyncio.to_thread(self.graphql, document, hash=artifact_hash)

    async def bring(self, key: str, file: Path) -> None:
        """Puts an object where the product expects it."""
        async with self._store() as store:
            await store.put_new(key, file)

    def _store(self) -> ObjectStore:
        return ObjectStore(read_endpoints(self.installation.folder, NOTHING_OUTSIDE).objects, ObjectsSettings())


@contextmanager
def usual_limit_of_files() -> Generator[None]:
    """What a shell gives to what it starts, whatever this machine gives to the tests."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_FILES, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def running_product(site: Path) -> Generator[Product]:
    environment = {**ENVIRONMENT, "PYTHONPATH": str(site)}
    with temporary_installation(environment, cwd=site) as installation:
        with usual_limit_of_files():
            greeted = installation.up()
        link = next(line.split()[-1] for line in greeted["greeting"] if "/sign-in" in line)
        parts = urlsplit(link)
        yield Product(installation, greeted, link, f"{parts.scheme}://{parts.netloc}")


def unpack_wheel(folder: Path) -> Path:
    """What `pip install` of the wheel puts into an environment, dependencies aside: compiled as well."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    site = folder / "site"
    zipfile.ZipFile(wheel).extractall(site)
    assert compileall.compile_dir(site, quiet=1)
    return site
