"""The GraphQL surface, put together from what the composition root knows."""

from __future__ import annotations

from touchline.gateway.auth.parts import Auth
from touchline.gateway.graphql.live.artifacts import TYPES
from touchline.gateway.graphql.live.feeds import Feeds
from touchline.gateway.media.parts import Media
from touchline.platform.postgres.database import Database
from touchline.platform.postgres.wakeups import Wakeups

from .context import GraphqlParts
from .cursors import Cursors
from .settings import GraphqlSettings
from .sources import Sources


def build_feeds(database: Database, wakeups: Wakeups, settings: GraphqlSettings) -> Feeds:
    """The wake-ups must listen on `platform.events.log.EVENTS_CHANNEL`."""
    return Feeds(database, wakeups, settings, TYPES)


def build_graphql(
    sources: Sources, auth: Auth, media: Media, feeds: Feeds, cluster_secret: str, settings: GraphqlSettings
) -> GraphqlParts:
    return GraphqlParts(sources, auth, media, feeds, Cursors(cluster_secret), settings)
