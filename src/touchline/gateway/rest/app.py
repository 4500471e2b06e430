"""The HTTP application, put together from its parts."""

from __future__ import annotations

from fastapi import FastAPI

from touchline import __version__
from touchline.gateway.graphql import http as graphql
from touchline.gateway.media import files as media
from touchline.gateway.page import routes as page
from touchline.platform.http_server import HostCheck

from . import auth, clips, events, exports, goals, health, parts, problems
from .frame import Compressed, Frame
from .parts import GatewayParts


def build_app(gateway: GatewayParts) -> FastAPI:
    app = FastAPI(
        title="Touchline",
        version=__version__,
        openapi_url="/api/openapi.json",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    parts.install(app, gateway)
    web = page.build_page(gateway.page.folder, gateway.page.upload_url, gateway.settings)
    problems.install(app, web.missing)
    for router in (
        auth.router,
        clips.router,
        events.router,
        exports.router,
        goals.router,
        health.router,
        media.router,
        graphql.build_router(gateway.graphql, gateway.settings.origins),
        web.router,
    ):
        app.include_router(router)
    app.add_middleware(HostCheck, names=gateway.settings.host_names, pages=True)
    larger = {events.PATH: int(gateway.ingest.settings.max_body)}
    app.add_middleware(Compressed)
    app.add_middleware(Frame, settings=gateway.settings, larger=larger)
    return app
