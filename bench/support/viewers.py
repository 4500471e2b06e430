"""Viewers that cost little: each a thread with one connection, reading into one buffer; and nginx to compare with."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from socket import socket

BUFFER_BYTES = 1024**2
NGINX = "nginx"
NGINX_IS_MISSING = "nginx is not installed (apt-get install nginx-light): nothing to compare segments with"
START_S = 10
CONFIGURATION = """
daemon off; user root; worker_processes auto; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


@dataclass(frozen=True)
class Place:
    """Where files are served from: the same names below another path."""

    port: int
    path: str


def free_port() -> int:
    with socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def first_bytes_ms(place: Place, names: Sequence[str], times: int) -> list[float]:
    """From opening a connection to the first byte of the file, one viewer after the other."""
    taken: list[float] = []
    for name, _ in zip(cycle(names), range(times), strict=False):
        connection = HTTPConnection("127.0.0.1", place.port, timeout=30)
        begun = time.perf_counter()
        connection.request("GET", f"{place.path}/{name}")
        answer = connection.getresponse()
        first = answer.read(1)
        taken.append((time.perf_counter() - begun) * 1000)
        if answer.status != 200 or not first:
            raise RuntimeError(f"{name}: {answer.status}")
        answer.read()
        connection.close()
    return taken


def bytes_per_second(place: Place, names: Sequence[str], viewers: int, seconds: float) -> float:
    """Of viewers at the same time, each of whom reads one file after the other."""
    until = time.perf_counter() + seconds
    with ThreadPoolExecutor(viewers) as threads:
        begun = time.perf_counter()
        read = sum(threads.map(lambda _: _read_until(place, names, until), range(viewers)))
        return read / (time.perf_counter() - begun)


def _read_until(place: Place, names: Sequence[str], until: float) -> int:
    connection, buffer, total = (
        HTTPConnection("127.0.0.1", place.port, timeout=60),
        memoryview(bytearray(BUFFER_BYTES)),
        0,
    )
    for name in cycle(names):
        if time.perf_counter() >= until:
            connection.close()
            return total
        connection.request("GET", f"{place.path}/{name}")
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"{name}: {answer.status}")
        while count := answer.readinto(buffer):
            total += count
    return total


def answers_per_second(
    port: int, headers: dict[str, str], bodies: Sequence[bytes], callers: int, seconds: float
) -> float:
    """GraphQL requests, over and over; each must have an answer without errors."""
    until = time.perf_counter() + seconds

    def call(number: int) -> int:
        connection, count = HTTPConnection("127.0.0.1", port, timeout=60), 0
        for body in cycle([*bodies[number:], *bodies[:number]]):
            if time.perf_counter() >= until:
                connection.close()
                return count
            connection.request("POST", "/api/graphql", body, {**headers, "Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200 or b'"ViewerEndpoints"' not in content:
                raise RuntimeError(f"{answer.status}: {content[:500]!r}")
            count += 1
        return count

    with ThreadPoolExecutor(callers) as threads:
        begun = time.perf_counter()
        return sum(threads.map(call, range(callers))) / (time.perf_counter() - begun)


def has_nginx() -> bool:
    return shutil.which(NGINX) is not None


@contextmanager
def nginx(folder: Path, root: Path) -> Generator[Place]:
    """Serves a folder as Debian's nginx does: from the disk's cache, by sendfile, by as many processes as there are
    processors."""
    port, file = free_port(), folder / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=folder, port=port, root=root))
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", str(file)])
    try:
        _await_port(port)
        yield Place(port, "")
    finally:
        process.terminate()
        process.wait()


def _await_port(port: int) -> None:
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        with suppress(OSError), socket() as probe:
            probe.connect(("127.0.0.1", port))
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")
