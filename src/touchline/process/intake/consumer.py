"""An original that was stored becomes a video of the pipeline with its first job.

Invariant: once for each video, however often the event comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import OriginalStored
from touchline.kernel.ids import parse_artifact_hash, video_id
from touchline.kernel.trace import tracing
from touchline.platform.postgres.database import Transaction
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.queue.service import enqueue
from touchline.process.videos.model import NewVideo
from touchline.process.videos.store import VideoStore


class Intake:
    name = "process-intake"
    types = frozenset({OriginalStored.event_type})

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        for event in events:
            with tracing(event.trace):
                await take_in(transaction, OriginalStored.model_validate(event.data))


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
