"""A real HTTP proxy on loopback, as one stands between many people and their servers: it passes on what it is not told
to spoil. Named as somebody's server it has nowhere to pass anything on, like a proxy whose server is away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx

HOP_BY_HOP = {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length"}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes = b""
    content_type: str = "text/html"


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    url: str
    body: bytes


Spoil = Callable[[Request], Answer | None]
BAD_GATEWAY = Answer(502, b"<html><h1>502 Bad Gateway</h1></html>")


@dataclass
class Proxy:
    url: str
    spoil: Spoil
    spoiled: list[Request] = field(default_factory=list[Request])
    passed: list[Request] = field(default_factory=list[Request])

    @cached_property
    def onward(self) -> httpx.Client:
        return httpx.Client(trust_env=False, timeout=60)

    def answer(self, request: Request) -> Answer | None:
        answer = self.spoil(request)
        (self.passed if answer is None else self.spoiled).append(request)
        return answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: Proxy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.proxy.answer(Request(self.command, self.path, body)) or self._passed_on(body)
        self.send_response(answer.status)
        if answer.content_type:
            self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def do_PUT(self) -> None:
        self.do_POST()

    def _passed_on(self, body: bytes) -> Answer:
        headers = [(name, value) for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP]
        answer = self.proxy.onward.request(self.command, self.path, headers=headers, content=body)
        return Answer(answer.status_code, answer.content, answer.headers.get("Content-Type", ""))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        pass


@contextmanager
def running_proxy(spoil: Spoil) -> Generator[Proxy]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        proxy = Proxy(f"http://127.0.0.1:{server.server_port}", spoil)
        server.RequestHandlerClass = type("Handler", (_Handler,), {"proxy": proxy})
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield proxy
        finally:
            server.shutdown()
            thread.join()
            proxy.onward.close()
