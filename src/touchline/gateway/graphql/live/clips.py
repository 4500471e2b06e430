"""Live events of clips: asked for, cut, made playable, failed, deleted."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import strawberry

from touchline.contracts.events.artifacts import ArtifactType
from touchline.gateway.graphql.context import Info

from .artifacts import IN_ORDER, ArtifactEvent, events_of

MOST_REMEMBERED = 1000


@strawberry.type
class ClipLifecycleEvent(ArtifactEvent):
    clip_hash: str = strawberry.field(description="The same as artifactHash.")


@strawberry.type
class ClipSubscriptions:
    @strawberry.subscription(description=f"{IN_ORDER} Of all clips, or of those of one stream.")
    async def live_clip_lifecycle(
        self, info: Info, stream_id: strawberry.ID | None = None, after: str | None = None
    ) -> AsyncGenerator[ClipLifecycleEvent]:
        streams = Streams(info)
        async for fields in events_of(info, ArtifactType.CLIP, after):
            clip_hash: str = fields["artifact_hash"]
            if stream_id is None or await streams.of(clip_hash) == stream_id:
                yield ClipLifecycleEvent(clip_hash=clip_hash, **fields)


class Streams:
    """Which stream a clip is of: the events do not say it, the registry does, and it never changes."""

    def __init__(self, info: Info) -> None:
        self._context = info.context
        self._known: dict[str, str | None] = {}

    async def of(self, clip_hash: str) -> str | None:
        """None for a clip of an uploaded video, and for one that was deleted before anybody asked."""
        if clip_hash not in self._known:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            registry, principal = self._context.parts.sources.registry, self._context.principal
            found = next(iter(await registry.clips(principal, [clip_hash])), None)
            self._known[clip_hash] = str(found.stream_id) if found and found.stream_id else None
        return self._known[clip_hash]
