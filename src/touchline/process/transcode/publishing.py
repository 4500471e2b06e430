"""A video becomes playable with its first complete rendition, while the others are still made.

Invariant: whatever is published is stored as a whole, and by the attempt that holds the job.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from touchline.contracts.events.videos import VideoTranscoded
from touchline.kernel.ids import artifact_hash
from touchline.media.playlists import read_segments
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.fence import write_held
from touchline.process.queue.model import Job
from touchline.process.videos.model import Rendition
from touchline.process.videos.store import VideoStore

from . import rules
from .pointers import PointerWriter
from .storing import Attempt

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Publisher:
    database: Database
    pointers: PointerWriter

    async def publish(self, held: Job, attempt: Attempt, folder: Path, master: str) -> None:
        """What the master playlist in the folder names, and the poster, are stored."""
        rendition = await asyncio.to_thread(published_rendition, held, folder, master)

        async def effects(transaction: Transaction) -> None:
            attempt.is_published = True  # from the commit on, which may come without an answer
            await announce(transaction, held, rendition)

        await write_held(self.database, held, held.progress_percent or 0, effects)
        try:
            await self.pointers.write(held.tenant_id, held.video_id)
        except Exception:
            logger.exception("left for later", extra={"video_id": str(held.video_id)})


async def announce(transaction: Transaction, held: Job, rendition: Rendition) -> None:
    revision = await VideoStore(transaction.connection).transcoded(held.video_id, rendition)
    transcoded = VideoTranscoded(
        artifact_hash=artifact_hash(held.video_id),
        job_id=held.id,
        attempt=held.attempt,
        manifest_key=rendition.s3_proxy_path,
        poster_key=rendition.s3_thumb_path,
        duration_ms=rendition.duration_ms,
        width=rendition.width,
        height=rendition.height,
        storyboard_key=rendition.s3_storyboard_path,
    )
    transaction.announce(transcoded, revision=revision)


def published_rendition(held: Job, folder: Path, master: str) -> Rendition:
    """As its playlists tell: the child still works on the others."""
    width, height, playlist = rules.shown_by((folder / master).read_text())
    seconds = sum(segment.duration_s for segment in read_segments((folder / playlist).read_text()))
    return Rendition(
        s3_proxy_path=rules.proxy_key(held.video_id, held.attempt, master),
        s3_thumb_path=rules.poster_key(held.video_id, held.attempt),
        duration_ms=round(seconds * 1000),
        width=width,
        height=height,
    )
