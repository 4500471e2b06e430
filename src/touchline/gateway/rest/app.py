"""The HTTP application: what every request passes through, and the routers behind it.

Invariant: every answer has an id and the security headers, every body a limit, and no traceback is ever sent.

Is it alive, is it ready, and what has it counted.

Invariant: alive says nothing about other parts, so that nobody restarts us because the database is away.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from uuid import uuid4

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette import types
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import ClientDisconnect

from touchline import __version__
from touchline.gateway import composition, web_page as page
from touchline.gateway.graphql import http as graphql
from touchline.gateway.metrics import HTTP_REQUESTS, HTTP_SECONDS
from touchline.gateway.settings import GatewaySettings
from touchline.kernel import Defect, Forbidden, LimitExceeded, Role, Scope, Unavailable, format_bytes
from touchline.platform.http_server import HostCheck

from . import auth, callers, measure, serve, watch

logger = logging.getLogger(__name__)
health_router = APIRouter(tags=["health"], responses=callers.RESPONSES)


@health_router.get("/health/live")
async def live() -> dict[str, str]:
    return {"status": "live"}


@health_router.get("/health/ready", response_model=None)
async def ready(request: Request, gateway: composition.Gateway) -> Response:
    names = list(gateway.checks)
    async with asyncio.TaskGroup() as group:
        running = [
            group.create_task(_is_up(name, gateway.checks[name], gateway.settings.check_timeout)) for name in names
        ]
    states = {name: "up" if task.result() else "down" for name, task in zip(names, running, strict=True)}
    down = [name for name, state in states.items() if state == "down"]
    if down:
        error = Unavailable("not ready", why=f"down: {', '.join(down)}")
        return callers.problem(error, callers.request_id_of(request), extra={"parts": states})
    return JSONResponse({"status": "ready", "parts": states})


@health_router.get("/metrics", response_model=None)
async def metrics(request: Request, bearer: callers.Bearer, gateway: composition.Gateway) -> Response:
    """For this machine, and for operators from anywhere."""
    if not callers.is_this_machine(request.client.host if request.client else "", request.headers):
        principal = await callers.current_principal(bearer, gateway)
        principal.require(Scope.READ)
        if principal.role is not Role.OPERATOR:
            raise Forbidden("only an operator may do this", why="it shows the whole installation")
    return Response(generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _is_up(name: str, check: composition.Check, at_most: timedelta) -> bool:
    """Whatever goes wrong means down; why is for the log, not for strangers."""
    try:
        async with asyncio.timeout(at_most.total_seconds()):
            await check()
    except Exception as error:
        logger.warning("a part is down", extra={"part": name, "reason": f"{type(error).__name__}: {error}"})
        return False
    return True


# --- Middleware.

SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
FRAMED = "/embed/"  # below it the content security policy says who may: the older header knows only all or nobody
HTTPS_HEADERS = {"Strict-Transport-Security": "max-age=31536000"}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNCOMPRESSED = ("/api/auth/", "/media/")
AS_THEY_ARE = (*DEFAULT_EXCLUDED_CONTENT_TYPES, "application/octet-stream", "application/vnd.apache.parquet")
SMALLEST_COMPRESSED = 1000  # bytes; less fits into a packet
COMPRESSION = 5
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)


class RequestMiddleware:
    def __init__(self, app: types.ASGIApp, settings: GatewaySettings, larger: Mapping[str, int]) -> None:
        """`larger` are the limits of the paths that take more."""
        self._app = app
        self._larger = larger
        self._most_bytes = int(settings.max_body)
        self._headers = SAFE_HEADERS | (HTTPS_HEADERS if settings.secure else {})

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        answer = _Answer(scope, send, self._headers_of(scope["path"]) | {"X-Request-Id": request_id})
        most_bytes = self._larger.get(scope["path"], self._most_bytes)
        if _declared_bytes(headers) > most_bytes:
            await callers.problem(_too_large(most_bytes), request_id)(scope, receive, answer.send)
            return
        try:
            await self._app(scope, _limited(receive, most_bytes), answer.send)
        except ClientDisconnect:
            return  # while its body was awaited: nobody is there to be answered
        except Exception:
            logger.exception("a request failed", extra={"request_id": request_id})
            if answer.begun:
                raise  # half an answer must not look like a whole one
            await callers.problem(Defect("unexpected"), request_id)(scope, receive, answer.send)

    def _headers_of(self, path: str) -> dict[str, str]:
        return {k: v for k, v in self._headers.items() if not (k == "X-Frame-Options" and path.startswith(FRAMED))}


class CompressionMiddleware(GZipMiddleware):
    """Answers as gzip where the client takes it: JSON, texts, scripts; no media, no streams of events.

    Nothing is compressed that carries a secret which another site could have asked for with text of its own beside it
    (BREACH): that is signing in, which goes by a cookie. The rest goes by a bearer token, which no other site has.
    """

    def __init__(self, app: types.ASGIApp) -> None:
        super().__init__(app, SMALLEST_COMPRESSED, COMPRESSION, exclude_content_types=AS_THEY_ARE)

    async def __call__(self, scope: types.Scope, receive: types.Receive, send: types.Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(UNCOMPRESSED):
            await self.app(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


class _Answer:
    """Dresses and counts the answer as it begins."""

    def __init__(self, scope: types.Scope, send: types.Send, headers: dict[str, str]) -> None:
        self._scope = scope
        self._send = send
        self._headers = headers
        self._began_at = time.perf_counter()
        self.begun = False

    async def send(self, message: types.Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
            self._count(message["status"])
        await self._send(message)

    def _count(self, status: int) -> None:
        route: str = getattr(self._scope.get("route"), "path", "") or "unmatched"
        method = self._scope["method"] if self._scope["method"] in METHODS else "OTHER"
        HTTP_REQUESTS.labels(method, route, status).inc()
        HTTP_SECONDS.labels(route).observe(time.perf_counter() - self._began_at)


def _limited(receive: types.Receive, most_bytes: int) -> Callable[[], Awaitable[types.Message]]:
    """A body may come without its length: then it is counted as it comes."""
    received = 0

    async def limited() -> types.Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most_bytes:
            raise HTTPException(413)
        return message

    return limited


def _too_large(most_bytes: int) -> LimitExceeded:
    return LimitExceeded("the request is too large", why=f"the limit is {format_bytes(most_bytes)}")


def _declared_bytes(headers: Headers) -> int:
    """What is no number of a sane length is counted as it comes."""
    declared = headers.get("content-length", "")
    return int(declared) if re.fullmatch(r"[0-9]{1,18}", declared) else 0


def _request_id(headers: Headers) -> str:
    """A proxy's id is kept, so that its log and ours can be read together."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid4().hex


# --- The application.


def build_app(gateway: composition.GatewayComposition) -> FastAPI:
    app = FastAPI(
        title="Touchline",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    composition.install(app, gateway)
    web = page.build_page(gateway.page.folder, gateway.page.upload_url, gateway.settings)
    callers.install(app, web.missing)
    for router in (
        auth.router,
        serve.clip_router,
        measure.event_router,
        measure.session_router,
        watch.router,
        health_router,
        serve.media_router,
        serve.playback_router,
        serve.build_player(web.player),
        graphql.build_router(gateway.graphql, gateway.settings.origins),
        web.router,
    ):
        app.include_router(router)
    app.add_middleware(HostCheck, names=gateway.settings.host_names, pages=True)
    larger = {measure.PATH: int(gateway.ingest.settings.max_body)}
    app.add_middleware(CompressionMiddleware)
    app.add_middleware(RequestMiddleware, settings=gateway.settings, larger=larger)
    return app
