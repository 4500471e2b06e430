"""Another user of this machine, who has no secret and knocks at doors. Run as a script by itself.

    python -I stranger.py < knocks.json > answers.json

As root it becomes a user that nobody is before it does anything. Others cannot: a port asks nobody who they are, and
for a socket the permissions of the file say what another user could do.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401 - looked up by name when a host is, and then it may be out of reach
import http.client
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc

HOST = "127.0.0.1"
LIMIT_S = 20.0
NOBODY_AT_ALL = 54_321
CLOSED = "closed"
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # the preface and empty settings


def knock_as_stranger(knocks: list[dict[str, Any]]) -> list[Any]:
    """From the tests' side."""
    command = [sys.executable, "-I", str(Path(__file__))]
    done = subprocess.run(command, input=json.dumps(knocks), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def by_http(port: int, method: str, path: str, headers: dict[str, str], body: str) -> int | str:
    """The status, whatever the protocol needs to be asked for."""
    connection = http.client.HTTPConnection(HOST, port, timeout=LIMIT_S)
    try:
        connection.request(method, path, body.encode(), headers)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return CLOSED
    finally:
        connection.close()


def by_tls(port: int) -> str:
    """Without a certificate; whatever the server says of itself is believed. Whether it says more."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        with socket.create_connection((HOST, port), LIMIT_S) as plain, context.wrap_socket(plain) as secure:
            secure.sendall(HTTP2 if secure.selected_alpn_protocol() == "h2" else b"GET / HTTP/1.0\r\n\r\n")
            return "open" if secure.recv(1) else CLOSED
    except OSError:  # its own errors are of this kind
        return CLOSED


def by_http2(port: int) -> str:
    """As gRPC speaks without TLS: a server that takes it answers with its settings."""
    try:
        with socket.create_connection((HOST, port), LIMIT_S) as plain:
            plain.sendall(HTTP2)
            return "open" if plain.recv(9)[3:4] == b"\4" else CLOSED
    except OSError:
        return CLOSED


def by_grpc(port: int, method: str) -> str:
    """The status of a call that proves nothing."""
    with grpc.insecure_channel(f"{HOST}:{port}") as channel:
        try:
            channel.unary_unary(method)(b"", timeout=LIMIT_S)
        except grpc.RpcError as error:
            return error.code().name  # pyright: ignore[reportAttributeAccessIssue]
    return "OK"


def by_postgres(port: int, user: str) -> int | str:
    """What kind of proof it asks for: 0 for none, 10 for SCRAM."""
    body = b"\0\3\0\0" + f"user\0{user}\0database\0postgres\0\0".encode()
    try:
        with socket.create_connection((HOST, port), LIMIT_S) as plain:
            plain.sendall((len(body) + 4).to_bytes(4, "big") + body)
            answer = plain.recv(9)
            return int.from_bytes(answer[5:9], "big") if answer[:1] == b"R" else CLOSED
    except OSError:
        return CLOSED


def by_socket(path: str, became: bool) -> str:
    if not became:
        return "open" if Path(path).stat().st_mode & stat.S_IWOTH else CLOSED
    try:
        with socket.socket(socket.AF_UNIX) as plain:
            plain.connect(path)
    except OSError:
        return CLOSED
    return "open"


def main() -> None:
    knocks = json.load(sys.stdin)
    by_grpc(1, "/nobody.Listens/There")  # it loads the rest of itself when it is used, which others may not read
    if became := os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY_AT_ALL)
        os.setuid(NOBODY_AT_ALL)
    ways = {"http": by_http, "tls": by_tls, "http2": by_http2, "postgres": by_postgres, "grpc": by_grpc}
    answers: list[Any] = []
    for knock in knocks:
        way = knock.pop("way")
        answers.append(by_socket(knock["path"], became) if way == "socket" else ways[way](**knock))
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
