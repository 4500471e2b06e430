"""Turns what was read in a video into segments and entities, and makes the video searchable.

Invariant: the rows, the state of the video and the event are one transaction, and of the reading as it is then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from uuid import UUID

from touchline.contracts.events.videos import VideoIndexed
from touchline.kernel import Conflict, artifact_hash
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.ocr.rules import TextRun, expand_runs
from touchline.process.ocr.store import ReadingStore
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import Job, SegmentIndexPayload
from touchline.process.sampling.store import FrameStore
from touchline.process.videos.store import VideoStore

from .rules import ReadFrame, SegmentIndex, build_index
from .store import SegmentStore

LOADED_PERCENT, MADE_PERCENT = 10, 90


class NotReadYet(Conflict):
    next_step = "Nothing to do: it is retried once the text has been read."


@dataclass(frozen=True, slots=True)
class IndexInput:
    video_id: UUID
    revision: int  # of the reading
    end_ms: int
    times: Sequence[int]
    runs: Sequence[TextRun]


@dataclass(frozen=True, slots=True)
class SegmentIndexer:
    database: Database

    async def work(self, job: Job, payload: SegmentIndexPayload, report: ReportProgress) -> Finished:
        material = await self._load(job)
        report(LOADED_PERCENT)
        made = await _build_in_thread(material)
        report(MADE_PERCENT)

        async def effects(transaction: Transaction) -> None:
            await _store(transaction, job, material, made)

        return Finished({"segments": len(made.segments), "entities": len(made.entities)}, effects)

    async def _load(self, job: Job) -> IndexInput:
        async with self.database.transaction(job.tenant_id) as transaction:
            readings, frames = ReadingStore(transaction.connection), FrameStore(transaction.connection)
            reading, sampling = await readings.find_locked(job.video_id), await frames.find(job.video_id)
            if reading is None or sampling is None or not reading.is_complete or reading.sampling != sampling.attempt:
                raise NotReadYet("the text of this video has not been read yet", why="it may have been sampled again")
            times, runs = await frames.times(job.video_id, reading.paths), await readings.runs(job.video_id)
        return IndexInput(job.video_id, reading.revision, sampling.duration_ms, times, runs)


async def _store(transaction: Transaction, job: Job, material: IndexInput, made: SegmentIndex) -> None:
    reading = await ReadingStore(transaction.connection).find_locked(job.video_id)
    if reading is None or reading.revision != material.revision:
        raise NotReadYet("the text of this video was read again meanwhile")
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


async def _build_in_thread(material: IndexInput) -> SegmentIndex:
    """In a thread, so that the event loop stays responsive; it ends soon after the job was cancelled."""
    stopped = Event()
    end_ms = max([material.end_ms, *(time + 1 for time in material.times[-1:])])
    try:
        return await asyncio.to_thread(build_index, material.video_id, _frames_until(stopped, material), end_ms)
    finally:
        stopped.set()


def _frames_until(stopped: Event, material: IndexInput) -> Iterator[ReadFrame]:
    for frame in expand_runs(material.times, material.runs):
        if stopped.is_set():
            return
        yield frame
