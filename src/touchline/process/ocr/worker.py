"""Reads the text in the pictures of a video, chunk by chunk.

Invariant: a chunk that was read is kept, with how far the reading is, by the attempt that holds the job. Whoever comes
after a death goes on behind the last chunk: pictures do not change.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from touchline.kernel.errors import Conflict, NotFound
from touchline.media.engines.port import TextReader
from touchline.media.engines.service import SMALLEST_SIDE
from touchline.media.pixels import decode_samples
from touchline.media.sampling_model import Sample
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.scratch import Scratch
from touchline.platform.together import together
from touchline.process.fence import write_held
from touchline.process.queue.handler import Finished, Tell
from touchline.process.queue.model import Job
from touchline.process.queue.payloads import OcrPayload, SegmentIndexPayload
from touchline.process.queue.service import enqueue
from touchline.process.sampling.model import Sampling
from touchline.process.sampling.rules import frame_key
from touchline.process.sampling.store import FrameStore
from touchline.process.segments.model import Frame
from touchline.process.settings import ProcessSettings

from . import rules
from .model import Chunk, Reading
from .readers import Readers
from .runs import folded, rests, with_next
from .store import ReadingStore

LARGEST_PICTURE = 64 * 1024**2
LAST_PERCENT = 99


class FramesMissing(NotFound):
    next_step = "Sample the video again: its pictures are gone."


class FramesReplaced(Conflict):
    next_step = "Nothing: the new pictures are read by the next try."


@dataclass(frozen=True, slots=True)
class Order:
    """All that one job reads."""

    job: Job
    payload: OcrPayload
    sampling: Sampling
    times: Sequence[int]

    @property
    def stream(self) -> str:
        return f"{self.job.id}/{self.job.attempt}"

    @property
    def is_legible(self) -> bool:
        return min(self.sampling.width, self.sampling.height) >= SMALLEST_SIDE


@dataclass(frozen=True, slots=True)
class OcrWorker:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    readers: Readers
    settings: ProcessSettings
    frames_per_chunk: int = rules.FRAMES_PER_CHUNK

    async def work(self, job: Job, payload: OcrPayload, tell: Tell) -> Finished:
        order = await self._order(job, payload)
        reading = await self._begin(order)
        done = bisect_right(order.times, reading.read_until_ms)
        if order.is_legible and done < len(order.times):
            await self._read(order, done, tell)
        return self._finished(order)

    async def _order(self, job: Job, payload: OcrPayload) -> Order:
        paths = rules.wanted_paths(job.video_id, payload.frame_paths)
        async with self.database.transaction(job.tenant_id) as transaction:
            store = FrameStore(transaction.connection)
            sampling = await store.find(job.video_id)
            times = await store.times(job.video_id, paths)
        if sampling is None or (paths is not None and len(times) != len(paths)):
            raise FramesMissing("pictures of this video are missing", why="they are not among those that were kept")
        return Order(job, payload, sampling, times)

    async def _begin(self, order: Order) -> Reading:
        request = rules.request_of(order.payload, self.readers.name, order.sampling.attempt)
        found: list[Reading] = []

        async def effects(transaction: Transaction) -> None:
            store = ReadingStore(transaction.connection)
            found.append(await store.begin(order.job.video_id, request))

        await write_held(self.database, order.job, 0, effects)
        return found[-1]

    async def _read(self, order: Order, done: int, tell: Tell) -> None:
        reader = await self.readers.reader(order.payload.languages)
        for start in range(done, len(order.times), self.frames_per_chunk):
            stop = min(start + self.frames_per_chunk, len(order.times))
            frames = await self._read_frames(order, reader, range(start, stop))
            chunk = Chunk(order.times[start], order.times[stop - 1], tuple(folded(frames)))
            percent = LAST_PERCENT * stop // len(order.times)
            await self._keep(order, chunk, percent)
            tell(percent)

    async def _keep(self, order: Order, chunk: Chunk, percent: int) -> None:
        video_id, sampling = order.job.video_id, order.sampling.attempt

        async def effects(transaction: Transaction) -> None:
            if not await ReadingStore(transaction.connection).add(video_id, sampling, chunk):
                raise _replaced(video_id)

        await write_held(self.database, order.job, percent, effects)

    async def _read_frames(self, order: Order, reader: TextReader, numbers: range) -> list[Frame]:
        """A picture behind which others are missing stood still: it is shown twice, as the reader likes it."""
        frames: list[Frame] = []
        async with self.scratch.folder() as folder:
            samples = await self._fetch(order, numbers, folder)
            size = order.sampling.width, order.sampling.height
            async with aclosing(decode_samples(self.sandbox, folder, samples, size)) as pictures:
                async for picture in pictures:
                    regions = await reader.read(picture, order.stream)
                    if rests(order.times, numbers[len(frames)], order.sampling.every_ms):
                        regions = await reader.read(picture, order.stream)
                    frames = with_next(frames, picture.at_ms, rules.kept(regions, order.payload))
        return frames

    async def _fetch(self, order: Order, numbers: range, folder: Path) -> list[Sample]:
        times = [order.times[number] for number in numbers]
        lanes = self.settings.uploads_at_once
        await together(*(self._fetch_some(order, times[lane::lanes], folder) for lane in range(lanes)))
        return [Sample(_name(time_ms), time_ms, 0) for time_ms in times]

    async def _fetch_some(self, order: Order, times: Sequence[int], folder: Path) -> None:
        for time_ms in times:
            key = frame_key(order.job.video_id, order.sampling.attempt, _name(time_ms))
            try:
                picture = await self.objects.get(key, at_most=LARGEST_PICTURE)
            except NotFound as error:
                raise FramesMissing("a picture of this video is missing", why=f"there is no object {key}") from error
            await asyncio.to_thread((folder / _name(time_ms)).write_bytes, picture)

    def _finished(self, order: Order) -> Finished:
        video_id, sampling = order.job.video_id, order.sampling.attempt

        async def effects(transaction: Transaction) -> None:
            if not await ReadingStore(transaction.connection).complete(video_id, sampling):
                raise _replaced(video_id)
            await enqueue(transaction, SegmentIndexPayload(video_id=video_id))

        return Finished({"frames": len(order.times)}, effects)


def _name(time_ms: int) -> str:
    return f"{time_ms}.jpg"


def _replaced(video_id: UUID) -> FramesReplaced:
    return FramesReplaced("the pictures were taken anew meanwhile", why=f"of video {video_id}")
