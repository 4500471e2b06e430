"""What processing says about videos, applied to their artifacts.

Invariant: only `processing` is left. What is ready can only get better: a later stage that fails takes nothing from it.
What comes late or twice changes nothing and tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from touchline.contracts.events import Event
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoTranscoded
from touchline.kernel import Clock
from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction

from . import changes
from .model import Reason, Rendition, Status
from .rules import LONGEST_REASON


class VideoEvents:
    name = "serve-artifacts"
    types = frozenset({VideoProgressed.event_type, VideoTranscoded.event_type, VideoFailed.event_type})

    def __init__(self, retention: timedelta, clock: Clock) -> None:
        self._retention = retention
        self._clock = clock

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            await self._apply(transaction, event)

    async def _apply(self, transaction: Transaction, event: Event) -> None:
        until = self._clock.now() + self._retention
        match event.type:
            case VideoProgressed.event_type:
                progressed = VideoProgressed.model_validate(event.data)
                artifact_hash = ArtifactHash(progressed.artifact_hash)
                await changes.progress(transaction, artifact_hash, progressed.attempt, progressed.progress_percent)
            case VideoTranscoded.event_type:
                done = VideoTranscoded.model_validate(event.data)
                await _publish(transaction, done, until)
            case _:
                failed = VideoFailed.model_validate(event.data)
                reason = Reason(failed.error_code, failed.error_message[:LONGEST_REASON])
                artifact_hash = ArtifactHash(failed.artifact_hash)
                await changes.fail(transaction, artifact_hash, reason, (Status.PROCESSING,), until)


async def _publish(transaction: Transaction, done: VideoTranscoded, until: datetime) -> None:
    """The first rendition ends the processing, the others come to what is ready."""
    artifact_hash, made = ArtifactHash(done.artifact_hash), _rendition(done)
    if await changes.finish(transaction, artifact_hash, made, until) is None:
        await changes.republish(transaction, artifact_hash, made)


def _rendition(done: VideoTranscoded) -> Rendition:
    return Rendition(
        manifest_key=done.manifest_key,
        poster_key=done.poster_key,
        duration_ms=done.duration_ms,
        width=done.width,
        height=done.height,
    )
