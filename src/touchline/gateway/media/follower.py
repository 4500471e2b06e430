"""Reads the event log beside the gateway, so that what was deleted stops playing and a new title shows at once.

Invariant: remembered places are trusted only from the moment on from which the log is followed without a gap.
"""

from __future__ import annotations

import logging
from datetime import timedelta

from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactRenamed
from touchline.platform.events.log import EventSource
from touchline.platform.retry import retry_forever

from .places import Places

TYPES = frozenset({ArtifactLifecycle.event_type, ArtifactRegistered.event_type, ArtifactRenamed.event_type})
BATCH = 500
RETRY_AFTER = timedelta(milliseconds=200)

logger = logging.getLogger(__name__)


class Follower:
    def __init__(self, source: EventSource, places: Places, poll_interval: timedelta) -> None:
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
