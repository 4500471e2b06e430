"""An original that was stored becomes a video with its first job; one that was deleted is found no more.

Invariant: once for each video, however often the event comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactLifecycle, OriginalStored
from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.kernel.trace import tracing
from touchline.platform.postgres.database import Transaction
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.queue.service import enqueue
from touchline.process.search.service import forget
from touchline.process.videos.model import NewVideo
from touchline.process.videos.store import VideoStore

DELETED = "deleted"  # as the lifecycle of artifacts says it


class Intake:
    name = "process-intake"
    types = frozenset({OriginalStored.event_type, ArtifactLifecycle.event_type})

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            with tracing(event.trace):
                await take(transaction, event)


async def take(transaction: Transaction, event: Event) -> None:
    if event.type == OriginalStored.event_type:
        await take_in(transaction, OriginalStored.model_validate(event.data))
    elif event.data.get("status") == DELETED:
        await forget(transaction, video_id(parse_artifact_hash(event.data["artifact_hash"])))


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
