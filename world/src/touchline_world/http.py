"""What the services share over HTTP: request bodies read up to a limit, and the faults that any of them may have (it is
down, it hangs, it resets the connection, it limits the rate).
"""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

from touchline_world.days.model import Service, Trouble

from .world import World

MOST_FORM_BYTES, MOST_FIELDS = 16 * 1024, 32


class BodyTooLarge(Exception):
    """More than the service takes."""


async def read_body(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most_bytes:
            raise BodyTooLarge
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """As a browser sends it; what is none has no fields."""
    body = await read_body(request, MOST_FORM_BYTES)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


PROMISED_BYTES = 65_536


class HangingResponse(Response):
    """Says nothing until the other side gives up."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


class TruncatedResponse(Response):
    """Promises more than it sends; the server then breaks the connection."""

    def __init__(self, body: bytes = b"{", promised: int = PROMISED_BYTES) -> None:
        super().__init__(body, headers={"Content-Length": str(max(promised, len(body) + 1))})


def fault_response(world: World, service: Service) -> Response | Trouble | None:
    """An answer that ends the request; or a trouble that only the service itself can have; or nothing."""
    match world.trouble(service):
        case Trouble.OUTAGE:
            return PlainTextResponse("Service Unavailable", 503)
        case Trouble.LIMITED:
            return PlainTextResponse("Too Many Requests", 429, {"Retry-After": "1"})
        case Trouble.HANGS:
            return HangingResponse()
        case Trouble.RESETS:
            return TruncatedResponse()
        case own:
            return own
