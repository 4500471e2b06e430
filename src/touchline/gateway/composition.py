"""What media is made of, put together from what the composition root knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, cast

from fastapi import Depends, FastAPI, Request

from touchline.gateway.auth.authentication import Auth
from touchline.gateway.graphql.feeds import ARTIFACT_TYPES, Feeds
from touchline.gateway.graphql.pages import Cursors
from touchline.gateway.graphql.sources import Sources
from touchline.gateway.media.endpoints import EndpointCache
from touchline.gateway.media.links import MediaLinks, MediaTokens
from touchline.kernel import Clock
from touchline.measure.ingest.service import IngestService
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups
from touchline.serve.artifacts.client import ArtifactClient

from .settings import GatewaySettings, GraphqlSettings, MediaLinkSettings


@dataclass(frozen=True, slots=True)
class Media:
    tokens: MediaTokens
    links: MediaLinks
    places: EndpointCache
    objects: ObjectStore
    clock: Clock


def build_media(
    artifacts: ArtifactClient, objects: ObjectStore, cluster_secret: str, settings: MediaLinkSettings, clock: Clock
) -> Media:
    tokens = MediaTokens(cluster_secret)
    links = MediaLinks(tokens, settings.link_lifetime, clock)
    return Media(tokens, links, EndpointCache(artifacts, settings, clock), objects, clock)


# --- The GraphQL surface, put together from what the composition root knows.


@dataclass(frozen=True, slots=True)
class GraphqlParts:
    sources: Sources
    auth: Auth
    media: Media
    feeds: Feeds
    cursors: Cursors
    settings: GraphqlSettings


def build_feeds(database: Database, wakeups: Wakeups, settings: GraphqlSettings) -> Feeds:
    """The wake-ups must listen on `platform.events.log.EVENTS_CHANNEL`."""
    return Feeds(database, wakeups, settings, ARTIFACT_TYPES)


def build_graphql(
    sources: Sources, auth: Auth, media: Media, feeds: Feeds, cluster_secret: str, settings: GraphqlSettings
) -> GraphqlParts:
    return GraphqlParts(sources, auth, media, feeds, Cursors(cluster_secret), settings)


# --- What the HTTP surface is made of; the composition root fills it in.

Check = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Page:
    """The built page, and where it sends uploads: the object store as browsers reach it."""

    folder: Path | None
    upload_url: str


@dataclass(frozen=True, slots=True)
class GatewayParts:
    database: Database
    auth: Auth
    settings: GatewaySettings
    graphql: GraphqlParts
    page: Page
    ingest: IngestService
    checks: Mapping[str, Check] = field(default_factory=dict[str, Check])  # by part; raises when the part is down

    @property
    def media(self) -> Media:
        return self.graphql.media


def install(app: FastAPI, parts: GatewayParts) -> None:
    app.state.parts = parts


def parts_of(request: Request) -> GatewayParts:
    return cast("GatewayParts", request.app.state.parts)


Parts = Annotated[GatewayParts, Depends(parts_of)]
