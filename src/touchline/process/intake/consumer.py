"""An original that was stored becomes a video with its first job, a clip that was asked for becomes a job; what was
deleted is found no more, nothing is cut for it, and then it is purged, unless it is undeleted before.

Invariant: once for each video and clip, however often the event comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import (
    ArtifactLifecycle,
    ArtifactType,
    ArtifactUndeleted,
    OriginalReturned,
    OriginalStored,
    OriginalVanished,
    PurgeDue,
)
from touchline.contracts.events.clips import ClipRequested
from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.kernel.trace import tracing
from touchline.platform.postgres.database import Transaction
from touchline.process.clips.service import request, withdraw
from touchline.process.purge import service as purge
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.queue.service import enqueue
from touchline.process.search.service import forget, remember
from touchline.process.videos.model import NewVideo
from touchline.process.videos.store import VideoStore

DELETED = "deleted"  # as the lifecycle of artifacts says it


class Intake:
    name = "process-intake"
    types = frozenset(
        payload.event_type
        for payload in (
            OriginalStored,
            ClipRequested,
            ArtifactLifecycle,
            ArtifactUndeleted,
            OriginalVanished,
            OriginalReturned,
            PurgeDue,
        )
    )

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            with tracing(event.trace):
                await take(transaction, event)


async def take(transaction: Transaction, event: Event) -> None:
    match event.type:
        case OriginalStored.event_type:
            await take_in(transaction, OriginalStored.model_validate(event.data))
        case ClipRequested.event_type:
            await request(transaction, ClipRequested.model_validate(event.data))
        case OriginalVanished.event_type:
            vanished = OriginalVanished.model_validate(event.data)
            await _miss(transaction, vanished.artifact_hash, vanished.missing_since)
        case OriginalReturned.event_type:
            await _miss(transaction, OriginalReturned.model_validate(event.data).artifact_hash, None)
        case PurgeDue.event_type:
            await purge.ask(transaction, video_id(parse_artifact_hash(event.data["artifact_hash"])))
        case ArtifactUndeleted.event_type:
            await remember(transaction, video_id(parse_artifact_hash(event.data["artifact_hash"])))
        case _ if event.data.get("status") == DELETED:
            await _forget(transaction, event.data)
        case _:
            pass


async def _forget(transaction: Transaction, data: Mapping[str, Any]) -> None:
    deleted = video_id(parse_artifact_hash(data["artifact_hash"]))
    await forget(transaction, deleted)
    if data.get("artifact_type") == ArtifactType.CLIP:
        await withdraw(transaction, deleted)


async def take_in(transaction: Transaction, stored: OriginalStored) -> None:
    video = NewVideo(
        video_id=video_id(parse_artifact_hash(stored.artifact_hash)),
        owner_id=stored.user_id,
        s3_original_path=stored.original_key,
        size_bytes=stored.size_bytes,
        content_type=stored.content_type,
    )
    if await VideoStore(transaction.connection).add(video):
        await enqueue(transaction, TranscodePayload(video_id=video.video_id, s3_original_path=video.s3_original_path))


async def _miss(transaction: Transaction, artifact_hash: str, since: datetime | None) -> None:
    """Whoever looks at the video sees why a stage that reads the original cannot run again."""
    await VideoStore(transaction.connection).original_missing(video_id(parse_artifact_hash(artifact_hash)), since)
