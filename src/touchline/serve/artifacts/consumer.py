"""What processing says about videos and clips, applied to their artifacts.

Invariant: only `processing` is left, and `requested` by clips. What is ready can only get better: a later stage that
fails takes nothing from it. What comes late or twice changes nothing and tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from touchline.contracts.events import Event
from touchline.contracts.events.clips import ClipFailed, ClipMade
from touchline.contracts.events.videos import VideoFailed, VideoProgressed, VideoTranscoded
from touchline.kernel import Clock
from touchline.kernel.ids import ArtifactHash
from touchline.platform.postgres.database import Transaction
from touchline.serve.clips.model import MadeClip, Span

from . import changes
from .model import Reason, Rendition, Status
from .rules import LONGEST_REASON

CUTTING = (Status.REQUESTED, Status.PROCESSING)


class VideoEvents:
    name = "serve-artifacts"
    types = frozenset(
        payload.event_type for payload in (VideoProgressed, VideoTranscoded, VideoFailed, ClipMade, ClipFailed)
    )

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
            case ClipMade.event_type:
                made = ClipMade.model_validate(event.data)
                clip = MadeClip(made.size_bytes, Span(made.cut_start_ms, made.cut_end_ms))
                await changes.store_clip(transaction, ArtifactHash(made.artifact_hash), clip)
            case ClipFailed.event_type:
                await _fail(transaction, ClipFailed.model_validate(event.data), CUTTING, until)
            case _:
                await _fail(transaction, VideoFailed.model_validate(event.data), (Status.PROCESSING,), until)


async def _fail(
    transaction: Transaction, failed: VideoFailed | ClipFailed, leaving: Sequence[Status], until: datetime
) -> None:
    reason = Reason(failed.error_code, failed.error_message[:LONGEST_REASON])
    await changes.fail(transaction, ArtifactHash(failed.artifact_hash), reason, leaving, until)


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
