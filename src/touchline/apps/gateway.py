"""The gateway role, put together: GraphQL, REST, subscriptions, media and the page, over clients of the other roles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import uvicorn

from touchline.gateway.auth.authentication import Auth, build_auth
from touchline.gateway.auth.sessions.service import remove_ended_sessions
from touchline.gateway.composition import (
    GatewayComposition,
    GraphqlComposition,
    MeasureReads,
    WebPage,
    build_feeds,
    build_media,
    build_sources,
)
from touchline.gateway.graphql.pages import Cursors
from touchline.gateway.media_links import EndpointCacheFollower
from touchline.gateway.rest.app import build_app
from touchline.gateway.settings import GatewaySettings
from touchline.gateway.web_page import find_page
from touchline.kernel import SystemClock
from touchline.measure.analytics.service import SessionAnalytics
from touchline.measure.audit.service import Audit
from touchline.platform.endpoints import Endpoints
from touchline.platform.events import store
from touchline.platform.events.log import PostgresLog
from touchline.platform.http_server import HttpLimits
from touchline.platform.periodic.runner import PeriodicTask
from touchline.serve.storage.queries import StorageReads

from . import wiring
from .planes import Planes
from .runtime import Loop, Server
from .settings import Loaded, Settings

DAY = timedelta(days=1)
LAST_REQUESTS = timedelta(seconds=5)  # well within the grace that the supervisor gives a role


def build_gateway(loaded: Loaded, planes: Planes) -> GatewayComposition:
    settings, secret, context = loaded.settings, wiring.cluster_secret(loaded), planes.context
    auth: Auth = build_auth(context.database, secret, settings.auth, SystemClock())
    sessions = SessionAnalytics(context.analytics, settings.answers, settings.sessions)
    measure = MeasureReads(sessions, Audit(context.analytics))
    stored = StorageReads(context.database, settings.serve.purge_after)
    sources = build_sources(planes.clients, context.database, measure, stored, settings.watch)
    media = build_media(sources, context.database, context.objects, secret, settings.media_links, SystemClock())
    feeds = build_feeds(context.database, context.wakeups, settings.graphql)
    return GatewayComposition(
        database=context.database,
        auth=auth,
        settings=wiring.gateway_settings(loaded),
        checks={
            "postgres": lambda: store.log_status(context.database),
            "objects": lambda: context.objects.exists("health"),
            "clickhouse": context.analytics.ping,
        },
        graphql=GraphqlComposition(
            sources, auth, media, feeds, Cursors(secret), settings.graphql, wiring.gateway_url(loaded)
        ),
        ingest=planes.ingest,
        page=WebPage(find_page(), _upload_origin(loaded, wiring.endpoints(loaded))),
    )


def gateway_loops(gateway: GatewayComposition, log: PostgresLog, settings: Settings) -> list[Loop]:
    return [EndpointCacheFollower(log, gateway.media.places, settings.events.poll_interval).run()]


def gateway_tasks(planes: Planes, settings: Settings) -> list[PeriodicTask]:
    async def remove_sessions() -> bool:
        return (await remove_ended_sessions(planes.context.database, settings.auth, SystemClock())).more

    return [PeriodicTask("remove ended sessions", DAY, remove_sessions, catches_up=True)]


def believed_proxies(settings: GatewaySettings) -> dict[str, Any]:
    """Who may say where a request comes from. Left alone, the server believes everybody on this machine, and attempts
    to sign in are counted by address."""
    return {
        "proxy_headers": bool(settings.trusted_proxies),
        "forwarded_allow_ips": list(settings.trusted_proxies),
    }


def gateway_server(composition: GatewayComposition) -> Server:
    settings = composition.settings
    return Server(
        uvicorn.Config(
            build_app(composition),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            **believed_proxies(settings),
            ws_max_size=int(settings.max_body),
            timeout_graceful_shutdown=int(LAST_REQUESTS.total_seconds()),
        ),
        _limits(settings),
    )


def _limits(settings: GatewaySettings) -> HttpLimits:
    return HttpLimits(
        settings.header_timeout,
        settings.body_timeout,
        settings.idle_timeout,
        settings.send_timeout,
        settings.max_connections,
        settings.connections_per_address,
    )


def _upload_origin(loaded: Loaded, where: Endpoints) -> str:
    """The object store as browsers reach it: the page sends its uploads straight there."""
    return loaded.settings.objects.public_url or where.objects.url
