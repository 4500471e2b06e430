"""Live events of uploads."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import strawberry

from touchline.contracts.events.artifacts import ArtifactType
from touchline.gateway.graphql.context import Info

from .artifacts import IN_ORDER, ArtifactEvent, events_of


@strawberry.type
class VodLifecycleEvent(ArtifactEvent):
    pass


@strawberry.type
class VodSubscriptions:
    @strawberry.subscription(description=IN_ORDER)
    async def live_vod_lifecycle(self, info: Info, after: str | None = None) -> AsyncGenerator[VodLifecycleEvent]:
        async for fields in events_of(info, ArtifactType.UPLOAD, after):
            yield VodLifecycleEvent(**fields)
