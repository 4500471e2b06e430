"""Reads the text in the frames of a video, chunk by chunk.

Invariants: a chunk that was read is stored, with how far the reading is, by the attempt that holds the job; the
next attempt after a crash continues behind the last chunk, because frames do not change. One OCR process at a
time stays; a job with other languages starts it again.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from uuid import UUID

from touchline.kernel import Conflict, NotFound
from touchline.media.engines.model import ReaderName, TextReader, reader_for
from touchline.media.engines.service import SMALLEST_SIDE, Engine
from touchline.media.rules import SampledPicture
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import decode_samples
from touchline.platform.concurrency import gather_or_cancel
from touchline.platform.files import Scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.queue.handler import Finished, ReportProgress, write_while_held
from touchline.process.queue.jobs import Job, OcrPayload, SegmentIndexPayload
from touchline.process.queue.service import enqueue
from touchline.process.sampling.rules import Sampling, frame_key
from touchline.process.sampling.store import FrameStore
from touchline.process.segments.rules import ReadFrame
from touchline.process.settings import ProcessSettings

from . import rules
from .store import ReadingStore


class OcrEngines:
    def __init__(self, sandbox: Sandbox, name: ReaderName) -> None:
        self._sandbox = sandbox
        self.name = name
        self._engines: dict[tuple[str, ...], Engine] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        for engine in self._engines.values():
            await engine.close()

    async def reader(self, languages: Sequence[str]) -> Engine:
        """Raises LanguageMissing if the data of a language is not installed."""
        reader = reader_for(self.name, languages)
        wanted = tuple(languages) if reader is ReaderName.TESSERACT else ()  # RapidOCR's model reads many
        for others, engine in self._engines.items():
            if others != wanted:
                await engine.close()  # a job that still uses it gets a new process with the next frame
        engine = self._engines.setdefault(wanted, Engine(self._sandbox, reader, wanted or ("eng",)))
        await engine.start()
        return engine


LARGEST_PICTURE = 64 * 1024**2
LAST_PERCENT = 99


class FramesMissing(NotFound):
    next_step = "Sample the video again: its frames are gone."


class FramesReplaced(Conflict):
    next_step = "Nothing to do: the next attempt reads the new frames."


@dataclass(frozen=True, slots=True)
class OcrTask:
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
    engines: OcrEngines
    settings: ProcessSettings
    frames_per_chunk: int = rules.FRAMES_PER_CHUNK

    async def work(self, job: Job, payload: OcrPayload, report: ReportProgress) -> Finished:
        task = await self._load_task(job, payload)
        reading = await self._begin(task)
        done = bisect_right(task.times, reading.read_until_ms)
        if task.is_legible and done < len(task.times):
            await self._read(task, done, report)
        return self._finished(task)

    async def _load_task(self, job: Job, payload: OcrPayload) -> OcrTask:
        paths = rules.wanted_paths(job.video_id, payload.frame_paths)
        async with self.database.transaction(job.tenant_id) as transaction:
            store = FrameStore(transaction.connection)
            sampling = await store.find(job.video_id)
            times = await store.times(job.video_id, paths)
        if sampling is None or (paths is not None and len(times) != len(paths)):
            raise FramesMissing("frames of this video are missing", why="they are not among the stored ones")
        return OcrTask(job, payload, sampling, times)

    async def _begin(self, task: OcrTask) -> rules.OcrReading:
        request = rules.ocr_request(task.payload, self.engines.name, task.sampling.attempt)
        found: list[rules.OcrReading] = []

        async def effects(transaction: Transaction) -> None:
            store = ReadingStore(transaction.connection)
            found.append(await store.begin(task.job.video_id, request))

        await write_while_held(self.database, task.job, 0, effects)
        return found[-1]

    async def _read(self, task: OcrTask, done: int, report: ReportProgress) -> None:
        reader = await self.engines.reader(task.payload.languages)
        for start in range(done, len(task.times), self.frames_per_chunk):
            stop = min(start + self.frames_per_chunk, len(task.times))
            frames = await self._read_frames(task, reader, range(start, stop))
            chunk = rules.OcrChunk(task.times[start], task.times[stop - 1], tuple(rules.compress_runs(frames)))
            percent = LAST_PERCENT * stop // len(task.times)
            await self._store_chunk(task, chunk, percent)
            report(percent)

    async def _store_chunk(self, task: OcrTask, chunk: rules.OcrChunk, percent: int) -> None:
        video_id, sampling = task.job.video_id, task.sampling.attempt

        async def effects(transaction: Transaction) -> None:
            if not await ReadingStore(transaction.connection).add(video_id, sampling, chunk):
                raise _replaced(video_id)

        await write_while_held(self.database, task.job, percent, effects)

    async def _read_frames(self, task: OcrTask, reader: TextReader, numbers: range) -> list[ReadFrame]:
        """A frame after which others were left out was still: it is read twice, because OCR confirms text over time."""
        frames: list[ReadFrame] = []
        async with self.scratch.folder() as folder:
            samples = await self._fetch(task, numbers, folder)
            size = task.sampling.width, task.sampling.height
            async with aclosing(decode_samples(self.sandbox, folder, samples, size)) as pictures:
                async for picture in pictures:
                    regions = await reader.read(picture, task.stream)
                    if rules.is_still(task.times, numbers[len(frames)], task.sampling.every_ms):
                        regions = await reader.read(picture, task.stream)
                    frames = rules.append_frame(frames, picture.at_ms, rules.confident_texts(regions, task.payload))
        return frames

    async def _fetch(self, task: OcrTask, numbers: range, folder: Path) -> list[SampledPicture]:
        times = [task.times[number] for number in numbers]
        downloads = self.settings.uploads_at_once
        await gather_or_cancel(
            *(self._fetch_some(task, times[number::downloads], folder) for number in range(downloads))
        )
        return [SampledPicture(_frame_file(time_ms), time_ms, 0) for time_ms in times]

    async def _fetch_some(self, task: OcrTask, times: Sequence[int], folder: Path) -> None:
        for time_ms in times:
            key = frame_key(task.job.video_id, task.sampling.attempt, _frame_file(time_ms))
            try:
                picture = await self.objects.get(key, at_most=LARGEST_PICTURE)
            except NotFound as error:
                raise FramesMissing("a frame of this video is missing", why=f"there is no object {key}") from error
            await asyncio.to_thread((folder / _frame_file(time_ms)).write_bytes, picture)

    def _finished(self, task: OcrTask) -> Finished:
        video_id, sampling = task.job.video_id, task.sampling.attempt

        async def effects(transaction: Transaction) -> None:
            if not await ReadingStore(transaction.connection).complete(video_id, sampling):
                raise _replaced(video_id)
            await enqueue(transaction, SegmentIndexPayload(video_id=video_id))

        return Finished({"frames": len(task.times)}, effects)


def _frame_file(time_ms: int) -> str:
    return f"{time_ms}.jpg"


def _replaced(video_id: UUID) -> FramesReplaced:
    return FramesReplaced("the video was sampled again meanwhile", why=f"the frames of {video_id} were replaced")
