"""The gateway's composition: media access, GraphQL and HTTP, assembled from what the composition root passes in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from touchline.gateway.auth.authentication import Auth
from touchline.gateway.auth.service import suspended_tenants
from touchline.gateway.graphql.feeds import ARTIFACT_TYPES, Feeds
from touchline.gateway.graphql.pages import Cursors
from touchline.gateway.graphql.sources import DataSources
from touchline.gateway.media.access import PlaybackAccess
from touchline.gateway.media.endpoints import EndpointCache
from touchline.gateway.media.links import MediaLinks
from touchline.kernel import Clock
from touchline.measure.ingest.service import IngestService
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Wakeups
from touchline.serve.playback.tokens import MediaTokens

from .settings import GatewaySettings, GraphqlSettings, MediaLinkSettings


@dataclass(frozen=True, slots=True)
class MediaAccess:
    tokens: MediaTokens
    links: MediaLinks
    places: EndpointCache
    access: PlaybackAccess
    objects: ObjectStore
    clock: Clock


def build_media(
    sources: DataSources,
    database: Database,
    objects: ObjectStore,
    cluster_secret: str,
    settings: MediaLinkSettings,
    clock: Clock,
) -> MediaAccess:
    tokens = MediaTokens(cluster_secret)
    return MediaAccess(
        tokens=tokens,
        links=MediaLinks(tokens, settings.link_lifetime, clock),
        places=EndpointCache(sources.artifacts, settings, clock),
        access=PlaybackAccess(lambda: suspended_tenants(database), sources.playback, clock),
        objects=objects,
        clock=clock,
    )


# --- GraphQL.


@dataclass(frozen=True, slots=True)
class GraphqlComposition:
    sources: DataSources
    auth: Auth
    media: MediaAccess
    feeds: Feeds
    cursors: Cursors
    settings: GraphqlSettings
    gateway_url: str  # how people reach it


def build_feeds(database: Database, wakeups: Wakeups, settings: GraphqlSettings) -> Feeds:
    """The wake-ups must listen on `platform.events.log.EVENTS_CHANNEL`."""
    return Feeds(database, wakeups, settings, ARTIFACT_TYPES)


# --- HTTP.

Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class WebPage:
    """The built page, and where it sends uploads: the object store as browsers reach it."""

    folder: Path | None
    upload_url: str


@dataclass(frozen=True, slots=True)
class GatewayComposition:
    database: Database
    auth: Auth
    settings: GatewaySettings
    graphql: GraphqlComposition
    page: WebPage
    ingest: IngestService
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # by part; raises when the part is down

    @property
    def media(self) -> MediaAccess:
        return self.graphql.media


def install(app: FastAPI, gateway: GatewayComposition) -> None:
    app.state.gateway = gateway


def composition_of(request: Request) -> GatewayComposition:
    return cast("GatewayComposition", request.app.state.gateway)


Gateway = Annotated[GatewayComposition, Depends(composition_of)]
