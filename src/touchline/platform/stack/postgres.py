"""The embedded PostgreSQL: created by our own initdb, passwords for every connection, loopback only.

Invariant: a database folder appears whole or not at all. When root starts it, the server runs as the service user,
from a copy of its programs that this user can read.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psutil
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from touchline.kernel import Misconfigured, SetupError
from touchline.platform.endpoints import PostgresEndpoint
from touchline.platform.postgres.migrations import LOGIN_ROLES, ensure_database, ensure_roles
from touchline.platform.settings import MIB

from .folder import LOOPBACK, Installation, Ports, Secrets, first_inaccessible, private_folder, write_private
from .part import PartKind, StackPart
from .process import Launch, postgres_home, run_to_completion, server_environment

NAME = "postgres"
PORTS = ("postgres",)
SUPERUSER = "postgres"
SECRETS = (SUPERUSER, *LOGIN_ROLES)
DATABASE = "touchline"
VERSION = "18"
LONGEST_SOCKET_PATH = 107
INITDB_LIMIT = timedelta(minutes=2)
CONNECT_LIMIT_S = 5


def url(ports: Ports, secrets: Secrets, role: str, database: str = DATABASE) -> str:
    """Loopback connections need no encryption. Secrets consist of characters that are safe in URLs."""
    where = f"{LOOPBACK}:{ports['postgres']}/{database}"
    return f"postgresql://{role}:{secrets[role]}@{where}?sslmode=disable&gssencmode=disable"


def superuser_url(ports: Ports, secrets: Secrets) -> str:
    return url(ports, secrets, SUPERUSER, "postgres")


def endpoint(ports: Ports, secrets: Secrets) -> PostgresEndpoint:
    owner, app, worker, readonly = (url(ports, secrets, role) for role in LOGIN_ROLES)
    return PostgresEndpoint(owner_url=owner, app_url=app, worker_url=worker, readonly_url=readonly)


def postgres_part(installation: Installation) -> StackPart:
    cluster = PostgresCluster(installation)
    superuser = superuser_url(installation.ports, installation.secrets)

    async def before_start() -> None:
        await asyncio.to_thread(cluster.prepare)

    async def after_start() -> None:
        await make_roles(superuser, installation.secrets)

    return StackPart(
        name=NAME,
        kind=PartKind.SERVER,
        launch=cluster.launch("postgres", "-D", str(cluster.data), *_parameters(installation, cluster.sockets)),
        probe=lambda: check_connection(superuser),
        stop_grace=installation.settings.server_stop_grace,
        stop_signal=signal.SIGINT,  # fast shutdown: ends sessions, writes everything to disk
        before_start=before_start,
        after_start=after_start,
        address=f"{LOOPBACK}:{installation.ports['postgres']}",
        ports={"postgres": installation.ports["postgres"]},
    )


async def check_connection(superuser: str) -> None:
    limited = make_conninfo(superuser, connect_timeout=CONNECT_LIMIT_S)
    async with await AsyncConnection.connect(limited, autocommit=True) as connection:
        await connection.execute("SELECT 1")


async def make_roles(superuser: str, secrets: Secrets) -> None:
    """The roles get their passwords as verifiers, so that no log of a failing statement can hold one."""
    async with await AsyncConnection.connect(superuser) as connection:
        verifiers = {
            role: connection.pgconn.encrypt_password(secrets[role].encode(), role.encode(), b"scram-sha-256").decode()
            for role in LOGIN_ROLES
        }
    await ensure_roles(superuser, verifiers)
    await ensure_database(superuser, DATABASE)


@dataclass(frozen=True, slots=True)
class PostgresCluster:
    """The database folder on disk."""

    installation: Installation

    @property
    def folder(self) -> Path:
        return self.installation.folder.of(NAME)

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def sockets(self) -> Path:
        return self.folder / "socket"

    def launch(self, name: str, *arguments: str) -> Launch:
        installation = self.installation
        home = postgres_home(installation.folder, installation.user)
        return Launch(
            command=[str(home / "bin" / name), *arguments],
            folder=installation.folder.root,
            environment=server_environment(installation.folder, self.folder),
            user=installation.user,
            # When we are killed: end at once, but notify the sessions and release the shared memory.
            death_signal=signal.SIGQUIT,
        )

    def prepare(self) -> None:
        """Everything a start needs; quick when nothing is missing."""
        owner = self.installation.user.owner if self.installation.user else None
        private_folder(self.folder, owner)
        private_folder(self.sockets, owner)
        self.check_reachable()
        if not self.data.exists():
            self._make()
        found = (self.data / "PG_VERSION").read_text(encoding="ascii").strip()
        if found != VERSION:
            raise SetupError(
                f"the data in {self.data} was written by PostgreSQL {found}",
                why=f"this version of Touchline includes PostgreSQL {VERSION}",
                hint="Dump it with the version that wrote it and restore the dump into a new data folder.",
            )
        self._drop_recycled_process_id()

    def check_reachable(self) -> None:
        """Checks as the service user that it can run its program and enter its folder."""
        user = self.installation.user
        if user is None:
            return
        answer = run_to_completion(self.launch("postgres", "--version"), INITDB_LIMIT)
        if answer.returncode == 0:
            return
        root = self.installation.folder.root
        closed = first_inaccessible(user, [*reversed(root.parents), root])
        raise Misconfigured(
            f"the user {user.name} cannot reach the data folder {root}",
            why=f"{closed} is closed to it" if closed else answer.stdout.strip(),
            hint="Choose a folder that this user may enter with the setting `data`, like /var/lib/touchline, or "
            "another user with `stack.service_user`. Touchline opens no folder outside of its own.",
        )

    def _make(self) -> None:
        draft, password = self.folder / "data.draft", self.folder / "password"
        shutil.rmtree(draft, ignore_errors=True)
        write_private(password, self.installation.secrets[SUPERUSER])
        try:
            if self.installation.user:
                os.chown(password, *self.installation.user.owner)
            made = run_to_completion(self.launch("initdb", *_initdb_arguments(draft, password)), INITDB_LIMIT)
        finally:
            password.unlink()
        if made.returncode != 0:
            raise SetupError("initdb could not create the database folder", why=made.stdout.strip())
        draft.replace(self.data)

    def _drop_recycled_process_id(self) -> None:
        """After a reboot the pid in the old lock file may be another program's, which PostgreSQL takes for a server."""
        lock = self.data / "postmaster.pid"
        try:
            process = psutil.Process(int(lock.read_text(encoding="utf-8").split("\n", 1)[0]))
            ours = process.name() == "postgres" and process.cwd() == str(self.data.resolve())
        except (FileNotFoundError, psutil.NoSuchProcess):
            return  # nothing to fix: PostgreSQL removes the lock of a dead process by itself
        if ours:
            hint = f"Stop it, for example with `kill -INT {process.pid}`."
            raise SetupError(f"another PostgreSQL runs on {self.data}", why=f"process {process.pid}", hint=hint)
        lock.unlink()


def _initdb_arguments(data: Path, password: Path) -> list[str]:
    return [
        *("--pgdata", str(data), "--username", SUPERUSER, "--pwfile", str(password), "--auth", "scram-sha-256"),
        # Sorted by code point everywhere, letters by Unicode: the same on every machine and after every upgrade.
        *("--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
        "--no-instructions",
    ]


def _parameters(installation: Installation, sockets: Path) -> list[str]:
    settings = installation.settings
    fits = len(f"{sockets}/.s.PGSQL.{installation.ports['postgres']}.lock") <= LONGEST_SOCKET_PATH
    parameters = {
        "listen_addresses": LOOPBACK,
        "port": installation.ports["postgres"],
        "unix_socket_directories": f'"{sockets}"' if fits else "",  # quoted: a comma would make it two
        "unix_socket_permissions": "0700",
        "password_encryption": "scram-sha-256",
        "max_connections": settings.postgres_connections,
        "shared_buffers": f"{settings.postgres_memory // MIB}MB",
        # Bounds what must be replayed after a kill, and so how long the next start takes.
        "max_wal_size": "512MB",
        "random_page_cost": "1.1",
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "off",
        "log_line_prefix": "[%p] %q%u@%d ",
        "log_parameter_max_length_on_error": "0",
        "cluster_name": "touchline",
    }
    return [argument for name, value in parameters.items() for argument in ("-c", f"{name}={value}")]
