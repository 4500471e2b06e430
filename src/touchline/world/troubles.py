"""Troubles that any service may have: it is out, it hangs, it breaks the connection, it has had enough."""

from __future__ import annotations

from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from .context import World
from .days.model import Service, Trouble

PROMISED_BYTES = 65_536


class Hanging(Response):
    """Says nothing until the other side gives up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class CutOff(Response):
    """Promises more than it sends; the server then breaks the connection."""

    def __init__(self, body: bytes = b"{", promised: int = PROMISED_BYTES) -> None:
        super().__init__(body, headers={"Content-Length": str(max(promised, len(body) + 1))})


def answer_in_trouble(world: World, service: Service) -> Response | Trouble | None:
    """An answer that ends the request; or a trouble that only the service itself can have; or nothing."""
    match world.trouble(service):
        case Trouble.OUTAGE:
            return PlainTextResponse("Service Unavailable", 503)
        case Trouble.LIMITED:
            return PlainTextResponse("Too Many Requests", 429, {"Retry-After": "1"})
        case Trouble.HANGS:
            return Hanging()
        case Trouble.RESETS:
            return CutOff()
        case own:
            return own
