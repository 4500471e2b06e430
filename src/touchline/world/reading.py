"""Bodies of requests, read up to a limit."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

MOST_FORM_BYTES, MOST_FIELDS = 16 * 1024, 32


class TooLarge(Exception):
    """More than the service takes."""


async def read_body(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most_bytes:
            raise TooLarge
    return bytes(body)


async def read_form(request: Request) -> dict[str, str]:
    """As a browser sends it; what is none has no fields."""
    body = await read_body(request, MOST_FORM_BYTES)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}
