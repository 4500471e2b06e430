"""The doors of a running installation: who listens where, and how somebody without a secret knocks there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import psutil

from touchline.platform.stack.status import find_orphans

from .installation import Installation
from .stranger import CLOSED, knock_as_stranger

Knock = dict[str, Any]
HTTP_ERROR = 400
MAPPED = "::ffff:"
WEED_SIDES = ("objects_master", "objects_volume", "objects_filer")
# Temporal's development server knows no secrets: `doctor` says so. Pages of strangers it must refuse all the same.
TEMPORAL = ("temporal", "temporal_http", "temporal_metrics")
STACK_DOORS = frozenset(
    {"postgres", "objects", "objects_grpc", "clickhouse", "gateway", "rpc", "worker", "node", "rtmp", *TEMPORAL}
    | {f"{side}{kind}" for side in WEED_SIDES for kind in ("", "_grpc")}
)
WATCH_DOORS = ("watch", "browser")
FOREIGN_NAMES = ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example")


def get(port: int, path: str, **headers: str) -> Knock:
    return {"way": "http", "port": port, "method": "GET", "path": path, "headers": headers, "body": ""}


def post(port: int, path: str, body: str = "{}", **headers: str) -> Knock:
    return {"way": "http", "port": port, "method": "POST", "path": path, "headers": headers, "body": body}


def from_elsewhere(port: int, path: str) -> list[Knock]:
    """By names that are not ours, and by a page of another site."""
    page = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
    named = [get(port, path, Host=host) for name in FOREIGN_NAMES for host in (name, f"{name}:{port}")]
    return [*named, get(port, path, **page), post(port, path, **page)]


def watch_knocks(ports: Mapping[str, int]) -> list[Knock]:
    """At the roles that run only where football is watched."""
    watch, browser = ports["watch"], ports["browser"]
    tried = [get(browser, path) for path in ("/", "/status", "/search", "/docs", "/redoc", "/openapi.json", "/metrics")]
    tried += [post(browser, "/search", '{"search_query": "goal"}', Authorization=given) for given in ("", "Bearer ")]
    tried += [post(browser, "/status"), *from_elsewhere(browser, "/health"), *from_elsewhere(browser, "/status")]
    tried += [get(watch, path) for path in ("/", "/status", "/docs", "/openapi.json")]
    return tried + [each for path in ("/health/live", "/metrics") for each in from_elsewhere(watch, path)]


def is_closed(answer: Any) -> bool:
    return answer == CLOSED or (isinstance(answer, int) and answer >= HTTP_ERROR)


def answered(knocks: list[Knock]) -> list[tuple[Knock, Any]]:
    return list(zip(knocks, knock_as_stranger(knocks), strict=True))


def let_in(knocks: list[Knock]) -> list[Knock]:
    return [knock for knock, answer in answered(knocks) if not is_closed(answer)]


def listening(installation: Installation) -> Iterator[tuple[psutil.Process, Any]]:
    for process in find_orphans(installation.folder):
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN or (
                not connection.raddr and connection.type.name == "SOCK_DGRAM"
            ):
                yield process, connection


def check_listeners(installation: Installation, known: Mapping[int, str]) -> None:
    """All that are known, nobody else, and nowhere but on this machine."""
    found = [(process, connection.laddr) for process, connection in listening(installation)]
    assert {address.ip.removeprefix(MAPPED) for _, address in found} == {"127.0.0.1"}
    heard = {address.port for _, address in found}
    missing = [name for port, name in known.items() if port not in heard]
    assert missing == [], "a line here is about nothing"
    strangers = [
        (process.name(), process.cmdline(), address)
        for process, address in found
        if address.port not in known and not is_temporal(process)
    ]
    assert strangers == []


def is_temporal(process: psutil.Process) -> bool:
    """Its services talk to each other by ports that it chooses itself."""
    return process.name() == "temporal"


def open_sockets(installation: Installation) -> list[str]:
    """Those of the file system and beside it that another user may speak through."""
    paths = {
        connection.laddr
        for process in find_orphans(installation.folder)
        for connection in process.net_connections("unix")
        if connection.laddr
    }
    assert paths, "the store talks to itself by sockets"
    knocks = [{"way": "socket", "path": path} for path in sorted(paths)]
    return [knock["path"] for knock, answer in answered(knocks) if answer != CLOSED]
