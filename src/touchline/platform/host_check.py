"""Which name a request was sent to, and whether a web page sent it: the check of every HTTP door of ours.

A page from anywhere can make its visitor's browser send requests to this machine. It reads the answers if the name of
its own site leads here all of a sudden (DNS rebinding), so only names that are ours are answered; an address is fine,
since nobody else's page was loaded from it. Doors that no page has any business with refuse pages altogether.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from ipaddress import ip_address
from typing import Any, TypeAlias

from touchline.kernel.errors import Forbidden, surface

# As the ASGI specification has them.
Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Any]]
Send: TypeAlias = Callable[[Any], Awaitable[None]]
App: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

LOCAL = "localhost"
POLICY_VIOLATION = 1008  # of a WebSocket
FROM_A_PAGE = frozenset({"cross-site", "same-site", "same-origin"})  # `none`: a person typed the address


def is_own_host(host: str, names: Collection[str] = ()) -> bool:
    """`host` as the header has it. Without one there is no browser: it is the one thing that each of them sends."""
    if not host:
        return True
    name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
    name = name.lower().removesuffix(".")
    return name == LOCAL or name in names or _is_address(name)


def is_from_page(headers: Mapping[str, str]) -> bool:
    return "origin" in headers or headers.get("sec-fetch-site", "none") in FROM_A_PAGE


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class HostCheck:
    """Around an ASGI application. `pages`: whether web pages may ask it; which ones, the application decides."""

    def __init__(self, app: App, names: Iterable[str] = (), *, pages: bool = False) -> None:
        self._app, self._names, self._pages = app, frozenset(name.lower() for name in names), pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"} or (refusal := self._refusal(scope)) is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # its beginning, without which nothing may be sent
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": refusal.what})
        else:
            await _refuse(send, refusal, scope.get("state", {}).get("request_id", ""))

    def _refusal(self, scope: Scope) -> Forbidden | None:
        pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in pairs if name == "host"]
        if not all(is_own_host(host, self._names) for host in hosts):
            hint = "Use the address of the machine, or tell the settings of this door its name."
            return Forbidden("this name is not ours", why="any web page can lead a name here", hint=hint)
        if not self._pages and is_from_page(dict(pairs)):
            return Forbidden("web pages have no business here", hint="Ask with a program.")
        return None


async def _refuse(send: Send, error: Forbidden, request_id: str) -> None:
    status = surface(error).http
    document = {
        "type": f"urn:touchline:problem:{error.code}",
        "code": error.code,
        "title": error.what,
        "detail": error.why,
        "status": status,
        "next": error.hint,
        "retryable": error.retryable,
        "request_id": request_id,
    }
    body = json.dumps(document).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
