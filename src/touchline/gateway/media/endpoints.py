"""Viewer endpoints of artifacts: resolved by the artifact service and cached for a short time.

Invariant: a cached endpoint is used without asking only while the event log is followed without a gap; an event about
its artifact removes it, also while a request for it is still under way.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime, timedelta

from touchline.contracts.artifacts import ArtifactClient, ViewerEndpoint
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactRenamed
from touchline.gateway.settings import MediaLinkSettings
from touchline.kernel import Clock, PlaybackId, TenantId, TouchlineError, Unavailable
from touchline.platform.events.log import EventSource
from touchline.platform.retry import retry_forever


@dataclass(frozen=True, slots=True)
class _Remembered:
    endpoint: ViewerEndpoint
    since: datetime


class EndpointCache:
    def __init__(self, artifacts: ArtifactClient, settings: MediaLinkSettings, clock: Clock) -> None:
        self._artifacts = artifacts
        self._settings = settings
        self._clock = clock
        self._places: OrderedDict[PlaybackId, _Remembered] = OrderedDict()
        self._playback_ids: dict[str, PlaybackId] = {}
        self._forgotten = 0
        self._followed_at: datetime | None = None

    def remembered(
        self, playback_id: PlaybackId, tenant_id: TenantId, *, trusted: bool = True
    ) -> ViewerEndpoint | None:
        """What is known without asking, of this tenant only. Untrusted: it may have changed meanwhile."""
        found = self._recall(playback_id) if self._is_trusted() or not trusted else None
        return found if found is not None and found.tenant_id == tenant_id else None

    async def find(self, playback_id: PlaybackId, *, fresh: bool = False) -> ViewerEndpoint:
        """NotFound and Conflict as the service says; Unavailable says nothing about the artifact. `fresh`: the service
        is asked, since nodes come and go without an event about the artifact."""
        remembered = self._recall(playback_id)
        if remembered and self._is_trusted() and not fresh:
            return remembered
        forgotten = self._forgotten
        try:
            endpoint = await self._artifacts.resolve_viewer_endpoint(playback_id)
        except Unavailable:
            if remembered := self._recall(playback_id):
                return remembered
            raise
        except TouchlineError:
            if remembered:
                self.forget(remembered.artifact_hash)
            raise
        if forgotten == self._forgotten:
            self._remember(endpoint)
        return endpoint

    def forget(self, artifact_hash: str) -> None:
        self._forgotten += 1
        if playback_id := self._playback_ids.pop(artifact_hash, None):
            self._places.pop(playback_id, None)

    def forget_all(self) -> None:
        self._forgotten += 1
        self._places.clear()
        self._playback_ids.clear()

    def followed(self) -> None:
        """Everything that was committed up to now has been seen."""
        self._followed_at = self._clock.now()

    def _is_trusted(self) -> bool:
        followed_at = self._followed_at
        return followed_at is not None and self._clock.now() - followed_at <= self._settings.trust_for

    def _recall(self, playback_id: PlaybackId) -> ViewerEndpoint | None:
        remembered = self._places.get(playback_id)
        if remembered is None:
            return None
        if self._clock.now() - remembered.since > self._settings.remember_for:
            self.forget(remembered.endpoint.artifact_hash)
            return None
        self._places.move_to_end(playback_id)
        return remembered.endpoint

    def _remember(self, endpoint: ViewerEndpoint) -> None:
        self._places[endpoint.playback_id] = _Remembered(endpoint, self._clock.now())
        self._playback_ids[endpoint.artifact_hash] = endpoint.playback_id
        while len(self._places) > self._settings.remember:
            _, oldest = self._places.popitem(last=False)
            del self._playback_ids[oldest.endpoint.artifact_hash]


# --- Invalidation: follows the event log, so that what was deleted stops playing and a new title shows at once.

TYPES = frozenset({ArtifactLifecycle.event_type, ArtifactRegistered.event_type, ArtifactRenamed.event_type})
BATCH = 500
RETRY_AFTER = timedelta(milliseconds=200)
logger = logging.getLogger(__name__)


class EndpointCacheFollower:
    def __init__(self, source: EventSource, places: EndpointCache, poll_interval: timedelta) -> None:
        self._source = source
        self._places = places
        self._poll_interval = poll_interval
        self._position: int | None = None

    async def run(self) -> None:
        """Until cancelled. While the log is away nothing is trusted."""
        await retry_forever(self._turn, RETRY_AFTER, logger)

    async def _turn(self) -> None:
        if self._position is None:
            self._position = await self._source.head()
            self._places.forget_all()  # what was remembered before that may have been deleted before that
        while (reached := await self._step(self._position)) > self._position:
            self._position = reached
        self._places.followed()
        await self._source.wait(self._position, self._poll_interval)

    async def _step(self, position: int) -> int:
        batch = await self._source.read(position, BATCH, TYPES)
        for event in batch.events:
            self._places.forget(event.data["artifact_hash"])
        return batch.reached
