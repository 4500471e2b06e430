"""The process that owns the embedded ClickHouse: python -m touchline.platform.clickhouse --data DIR --port N ...

Invariant: one process a data folder, on loopback only; the password comes from a file and shows nowhere.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import logging
import os
import signal
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from types import FrameType

import uvicorn

from touchline.kernel import Conflict, Misconfigured, TouchlineError, surface
from touchline.platform import http_server
from touchline.platform.files import raise_open_files_limit

from .engine import load_chdb, open_engine, write_configuration
from .options import MODULE, OwnerLimits, OwnerOptions
from .protocol import OwnerCredentials
from .server import OwnerIdentity, OwnerServer

logger = logging.getLogger("touchline.clickhouse")

HOST = "127.0.0.1"
_PRIVATE = 0o700
_CANCEL_S = 2  # how long a cancelled statement may take to end
KEEP_ALIVE = timedelta(minutes=10)  # longer than clients keep idle connections, so that none is closed during a request


def parse_arguments(arguments: Sequence[str]) -> OwnerOptions:
    parser = argparse.ArgumentParser(prog=f"python -m {MODULE}", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder that this process owns")
    parser.add_argument("--port", type=int, required=True, help="the port on 127.0.0.1")
    parser.add_argument("--secret-file", type=Path, required=True, help="a file that holds the password")
    parser.add_argument("--user", default="touchline")
    parser.add_argument("--database", default="touchline", help="created if missing; statements run in it by default")
    for limit in fields(OwnerLimits):
        parser.add_argument(f"--{limit.name.replace('_', '-')}", type=int, default=limit.default, metavar="N")
    values = vars(parser.parse_args(arguments))
    limits = OwnerLimits(**{limit.name: values.pop(limit.name) for limit in fields(OwnerLimits)})
    return OwnerOptions(**values, limits=limits)


def run_owner(options: OwnerOptions) -> int:
    """Serves until SIGTERM or SIGINT. The exit code is 0 after a clean stop."""
    data = options.data.absolute()
    credentials = OwnerCredentials(options.user, _read_secret(options.secret_file))
    data.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    with _exclusive_owner(data), _bound_socket(options.port) as listener:
        configuration = write_configuration(data, options.limits)
        engine = open_engine(load_chdb(configuration), configuration, options.database, options.limits)
        owner = OwnerServer(engine, OwnerIdentity(credentials, options.database, data), options.limits)
        _serve(owner, listener, options.limits)
        if not owner.idle:
            logger.error("a statement did not end in time; the engine recovers when it starts again")
            os._exit(1)  # a thread inside the engine would block an orderly exit
        engine.close()
    return 0


class _OwnerHttpServer(http_server.HttpServer):
    """Stops as uvicorn does, and cancels running statements after a grace period."""

    def __init__(self, config: uvicorn.Config, owner: OwnerServer, grace_s: float) -> None:
        super().__init__(config, http_server.HttpLimits(idle_timeout=KEEP_ALIVE))
        self._owner = owner
        self._grace_s = grace_s

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        winding_down = asyncio.create_task(self._owner.wind_down(self._grace_s))
        await super().shutdown(sockets)
        winding_down.cancel()

    def end(self, number: int, frame: FrameType | None) -> None:
        """For a signal that comes before uvicorn handles signals, and for the one that it raises again at the end."""
        self.should_exit = True


def _serve(owner: OwnerServer, listener: socket.socket, limits: OwnerLimits) -> None:
    config = uvicorn.Config(
        owner.application(),
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=limits.stop_grace_s + _CANCEL_S,
    )
    server = _OwnerHttpServer(config, owner, limits.stop_grace_s)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.end)
    server.run(sockets=[listener])


def _read_secret(path: Path) -> str:
    try:
        password = path.read_text("utf-8").strip()
    except OSError as error:
        raise Misconfigured(f"the password cannot be read from {path}", why=error.strerror or "") from error
    if not password:
        raise Misconfigured(f"{path} holds no password")
    return password


@contextmanager
def _exclusive_owner(data: Path) -> Generator[None]:
    with (data / "owner.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "Stop the other one, or give each its own folder."
            raise Conflict(f"another process owns {data}", hint=hint) from None
        yield


@contextmanager
def _bound_socket(port: int) -> Generator[socket.socket]:
    """Bound now, so that a port in use is reported at once; it is served when the engine is ready."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise Conflict(f"port {port} of {HOST} cannot be used", why=error.strerror or "") from error
        yield listener


def main() -> int:
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    os.umask(0o077)
    raise_open_files_limit()
    try:
        return run_owner(parse_arguments(sys.argv[1:]))
    except TouchlineError as error:
        sys.stderr.write(f"error: {error}\n{error.hint}\n")
        return surface(error).exit


if __name__ == "__main__":
    sys.exit(main())
