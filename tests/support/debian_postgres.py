"""Debian's PostgreSQL 15, the oldest that is supported, where it is installed: started by the tests, for the tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import psycopg

from touchline.platform.postgres.migrations import LOGIN_ROLES
from touchline.platform.stack.folder import DataFolder, choose_ports, service_user
from touchline.platform.stack.process import Launch, guarded_command, run_to_completion, server_environment

from .postgres import PostgresServer
from .stack import temporary_root
from .wait import eventually

PROGRAMS = Path("/usr/lib/postgresql/15/bin")
PASSWORD = "only for this run"  # the superuser's, and everybody's


def installed() -> bool:
    return (PROGRAMS / "postgres").exists()


@contextmanager
def debian_postgres() -> Generator[PostgresServer]:
    with temporary_root() as root:
        folder, user = DataFolder(root), service_user("nobody")
        folder.create(user)
        home, password = folder.of("postgres"), folder.root / "password"
        home.mkdir(mode=0o700)
        password.write_text(PASSWORD)
        if user:
            shutil.chown(home, *user.owner)
            shutil.chown(password, *user.owner)
        port = choose_ports(folder.ports, ["postgres"])["postgres"]

        def launch(name: str, *arguments: str) -> Launch:
            return Launch([str(PROGRAMS / name), *arguments], home, server_environment(folder, home), user)

        login = ("--username", "postgres", "--auth", "scram-sha-256", "--pwfile", str(password))
        made = run_to_completion(
            launch("initdb", "--pgdata", str(home / "data"), "--encoding", "UTF8", *login), timedelta(minutes=2)
        )
        assert made.returncode == 0, made.stdout
        options = ("-c", f"unix_socket_directories={home}", "-c", "listen_addresses=127.0.0.1", "-p", str(port))
        server = launch("postgres", "-D", str(home / "data"), *options, "-c", "fsync=off")
        with _running(server):
            url = f"postgresql://postgres:{PASSWORD}@127.0.0.1:{port}/postgres".replace(" ", "%20")
            eventually(lambda: _answers(url))
            yield PostgresServer(url, dict.fromkeys(LOGIN_ROLES, PASSWORD))


@contextmanager
def _running(launch: Launch) -> Generator[None]:
    process = subprocess.Popen(
        guarded_command(launch),
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGQUIT)
        process.wait()


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
