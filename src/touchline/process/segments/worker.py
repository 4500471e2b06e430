"""Makes segments and entities of what was read in a video, and the video searchable.

Invariant: the rows, the state of the video and the event are one transaction, and of the reading as it is then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from uuid import UUID

from touchline.contracts.events.videos import VideoIndexed
from touchline.kernel.errors import Conflict
from touchline.kernel.ids import artifact_hash
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.ocr.model import Run
from touchline.process.ocr.runs import unfolded
from touchline.process.ocr.store import ReadingStore
from touchline.process.queue.handler import Finished, Tell
from touchline.process.queue.model import Job
from touchline.process.queue.payloads import SegmentIndexPayload
from touchline.process.sampling.store import FrameStore
from touchline.process.videos.store import VideoStore

from .indexing import Index, index
from .model import Frame
from .store import SegmentStore

LOADED_PERCENT, MADE_PERCENT = 10, 90


class NotReadYet(Conflict):
    next_step = "Nothing: it is tried again when the text was read."


@dataclass(frozen=True, slots=True)
class Material:
    video_id: UUID
    revision: int  # of the reading
    end_ms: int
    times: Sequence[int]
    runs: Sequence[Run]


@dataclass(frozen=True, slots=True)
class SegmentIndexer:
    database: Database

    async def work(self, job: Job, payload: SegmentIndexPayload, tell: Tell) -> Finished:
        material = await self._load(job)
        tell(LOADED_PERCENT)
        made = await _indexed(material)
        tell(MADE_PERCENT)

        async def effects(transaction: Transaction) -> None:
            await _store(transaction, job, material, made)

        return Finished({"segments": len(made.segments), "entities": len(made.entities)}, effects)

    async def _load(self, job: Job) -> Material:
        async with self.database.transaction(job.tenant_id) as transaction:
            readings, frames = ReadingStore(transaction.connection), FrameStore(transaction.connection)
            reading, sampling = await readings.find_locked(job.video_id), await frames.find(job.video_id)
            if reading is None or sampling is None or not reading.is_complete or reading.sampling != sampling.attempt:
                raise NotReadYet("the text of this video is not read yet", why="its pictures may have been taken anew")
            times, runs = await frames.times(job.video_id, reading.paths), await readings.runs(job.video_id)
        return Material(job.video_id, reading.revision, sampling.duration_ms, times, runs)


async def _store(transaction: Transaction, job: Job, material: Material, made: Index) -> None:
    reading = await ReadingStore(transaction.connection).find_locked(job.video_id)
    if reading is None or reading.revision != material.revision:
        raise NotReadYet("the text of this video was read anew meanwhile")
    await SegmentStore(transaction.connection).replace(job.video_id, made)
    revision = await VideoStore(transaction.connection).indexed(job.video_id)
    indexed = VideoIndexed(
        artifact_hash=artifact_hash(job.video_id),
        job_id=job.id,
        attempt=job.attempt,
        segments=len(made.segments),
        entities=len(made.entities),
    )
    transaction.announce(indexed, revision=revision)


async def _indexed(material: Material) -> Index:
    """In a thread, so that heartbeats go on; it ends soon after nobody waits for it any more."""
    stopped = Event()
    end_ms = max([material.end_ms, *(time + 1 for time in material.times[-1:])])
    try:
        return await asyncio.to_thread(index, material.video_id, _until(stopped, material), end_ms)
    finally:
        stopped.set()


def _until(stopped: Event, material: Material) -> Iterator[Frame]:
    for frame in unfolded(material.times, material.runs):
        if stopped.is_set():
            return
        yield frame
