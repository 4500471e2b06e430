"""Where an artifact lies that somebody may see: asked of the artifact service, and remembered for a little while.

Invariant: a remembered place is used without asking only while the event log is followed; an event about its artifact
makes it forgotten, also while the answer about it is still on its way.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime

from touchline.contracts.artifacts import ArtifactClient, ViewerEndpoint
from touchline.kernel import Clock, TenantId, TouchlineError
from touchline.kernel.errors import Unavailable
from touchline.kernel.ids import PlaybackId

from .settings import MediaLinkSettings


@dataclass(frozen=True, slots=True)
class _Remembered:
    endpoint: ViewerEndpoint
    since: datetime


class Places:
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

    async def find(self, playback_id: PlaybackId) -> ViewerEndpoint:
        """NotFound and Conflict as the service says; Unavailable says nothing about the artifact."""
        remembered = self._recall(playback_id)
        if remembered and self._is_trusted():
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
