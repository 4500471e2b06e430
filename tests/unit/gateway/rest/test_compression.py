from __future__ import annotations

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from touchline.gateway.rest.app import CompressionMiddleware

LONG = b'{"a": "a long answer"}' * 200


def client(content_type: str, body: bytes = LONG, status: int = 200) -> httpx.AsyncClient:
    async def answer(request: Request) -> Response:
        return Response(body, status, {"Content-Type": content_type})

    app = CompressionMiddleware(Starlette(routes=[Route("/{rest:path}", answer)]))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here")


@pytest.mark.parametrize(
    ("case", "path", "content_type", "compressed"),
    [
        ("an answer of the API", "/api/graphql", "application/json", True),
        ("a refusal", "/clips", "application/problem+json", True),
        ("a table", "/sessions/export", "text/csv; charset=utf-8", True),
        ("metrics", "/metrics", "text/plain; version=1.0.0", True),
        ("an access token", "/api/auth/refresh", "application/json", False),
        ("a segment", "/media/t/h/v0/segment-1.m4s", "video/iso.segment", False),
        (
            "a playlist, whose tag is of its bytes",
            "/media/t/h/i.m3u8",
            "application/vnd.apple.mpegurl",
            False,
        ),
        ("events as they come", "/goals/1/events", "text/event-stream", False),
        ("a picture", "/logo", "image/png", False),
        ("columns that are packed already", "/sessions/export", "application/vnd.apache.parquet", False),
    ],
)
async def test_what_is_compressed(case: str, path: str, content_type: str, compressed: bool) -> None:
    async with client(content_type) as http:
        response = await http.get(path, headers={"Accept-Encoding": "gzip, br"})
        assert (response.headers.get("content-encoding") == "gzip") is compressed, case
        assert response.content == LONG
        plain = await http.get(path, headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == LONG
        if compressed:
            assert int(response.headers["content-length"]) < len(LONG) / 10
            assert response.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"


async def test_what_is_short_or_a_part_stays_as_it_is() -> None:
    for http in (client("application/json", b"{}"), client("application/json", LONG, 206)):
        async with http:
            response = await http.get("/api/graphql", headers={"Accept-Encoding": "gzip"})
            assert "content-encoding" not in response.headers
