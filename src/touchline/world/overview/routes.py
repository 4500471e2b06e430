"""The start page and the documents behind it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from touchline.world.context import World
from touchline.world.days.truth import truth

from .documents import clock_document, day_document
from .pages import FOLDER, start_page
from .services import base_urls

FILES = {"start.css": "text/css", "start.js": "text/javascript"}
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'"


def routes(world: World, access: Mapping[str, str]) -> list[BaseRoute]:
    """`access`: what a person needs to know to use the services, by its name."""

    async def start(request: Request) -> Response:
        page = start_page(day_document(world), _origin(request), access)
        return HTMLResponse(page, headers={"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})

    async def clock(request: Request) -> Response:
        return JSONResponse(clock_document(world.clock, world.day.length_ms))

    async def day(request: Request) -> Response:
        return JSONResponse({**day_document(world), "base_urls": base_urls(_origin(request))})

    async def truly(request: Request) -> Response:
        return JSONResponse(truth(world.day))

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in FILES:
            return Response("Not Found", 404)
        return FileResponse(FOLDER / name, media_type=FILES[name], headers={"Cache-Control": "no-cache"})

    return [
        Route("/", start),
        Route("/world/clock", clock),
        Route("/world/day", day),
        Route("/world/truth", truly),
        Route("/world/assets/{name:str}", asset),
    ]


def _origin(request: Request) -> str:
    return f"{request.url.scheme}://{request.url.netloc}"
