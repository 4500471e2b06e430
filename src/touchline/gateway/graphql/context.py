"""What every resolver knows: who asks, and by what means it finds the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import strawberry
from strawberry.types.graphql import OperationType

from touchline.gateway.auth.parts import Auth
from touchline.gateway.graphql.live.feeds import Feeds
from touchline.gateway.media.parts import Media
from touchline.kernel import Principal
from touchline.kernel.errors import Defect, Unauthenticated

from .cursors import Cursor, Cursors
from .loaders import Loaders
from .settings import GraphqlSettings
from .sources import Sources

if TYPE_CHECKING:
    from touchline.gateway.graphql.live.connections import LiveConnection

REQUEST = frozenset({OperationType.QUERY, OperationType.MUTATION})
LIVE = frozenset({OperationType.SUBSCRIPTION})


@dataclass(frozen=True, slots=True)
class GraphqlParts:
    sources: Sources
    auth: Auth
    media: Media
    feeds: Feeds
    cursors: Cursors
    settings: GraphqlSettings


@dataclass
class Context:
    """Of one request, or of one live connection, which carries subscriptions only and so needs no loaders."""

    parts: GraphqlParts
    operations: frozenset[OperationType] = REQUEST
    known: Principal | None = None
    connection: LiveConnection | None = None
    connection_params: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def principal(self) -> Principal:
        if self.known is None:
            raise Unauthenticated("you are not signed in", why="the connection has not said who it is")
        return self.known

    @property
    def live(self) -> LiveConnection:
        if self.connection is None:
            raise Defect("a subscription outside of a live connection")
        return self.connection

    @cached_property
    def loaders(self) -> Loaders:
        return Loaders(self.principal, self.parts.sources, self.parts.settings)

    def changed(self) -> None:
        """What was loaded before a change is old."""
        self.__dict__.pop("loaders", None)

    def cursor(self, kind: str) -> Cursor:
        return self.parts.cursors.of(self.principal.tenant_id, kind)


Info: TypeAlias = strawberry.Info[Context, None]
