"""Samples the frames of a video that are worth reading from its original, under the attempt's own prefix.

Invariant: nobody reads a frame before all of them are stored; the list of frames and the next job are one
transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from touchline.media.model import OutputFile
from touchline.media.rules import SampleOptions, SampleSet
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import probe, read_manifest, sample
from touchline.platform.concurrency import gather_or_cancel
from touchline.platform.files import Scratch
from touchline.platform.objects.rules import ObjectKey
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.files import (
    AttemptOutputs,
    OutputUploader,
    deleted_on_failure,
    fetch_original,
    require_same_original,
)
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import Job, OcrPayload, SamplePayload
from touchline.process.queue.service import Effects, enqueue
from touchline.process.settings import ProcessSettings
from touchline.process.videos.store import VideoStore

from . import rules
from .store import FrameStore


@dataclass(frozen=True, slots=True)
class Sampler:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    settings: ProcessSettings

    async def work(self, job: Job, payload: SamplePayload, report: ReportProgress) -> Finished:
        outputs = AttemptOutputs([rules.frames_prefix(job.video_id, job.attempt)])
        async with self.scratch.folder() as folder, deleted_on_failure(self.objects, outputs):
            original, frames_folder = folder / "original", folder / "pictures"
            frames_folder.mkdir()
            await self._fetch(job, payload, original, report)
            duration_ms = (await probe(self.sandbox, original)).duration_ms
            options = SampleOptions(rules.step_ms(payload.target_fps, duration_ms), payload.dedupe_threshold)
            uploader = self._uploader(job, frames_folder, report)
            sampled = self._sample(original, options, uploader, report)
            [made] = filter(None, await gather_or_cancel(sampled, *uploader.uploads()))
            times = await asyncio.to_thread(_frame_times, frames_folder / made.manifest)
        sampling = rules.Sampling(
            job.attempt, options.every_ms, made.width, made.height, made.source.duration_ms, len(times)
        )
        return Finished(asdict(sampling), self._effects(job.video_id, sampling, times))

    async def _fetch(self, job: Job, payload: SamplePayload, original: Path, report: ReportProgress) -> None:
        key, largest = payload.s3_original_path, self.settings.largest_original
        arrived = _stage_progress(rules.SampleStage.FETCH, report)
        digest = await fetch_original(self.objects, key, original, largest, arrived)
        async with self.database.transaction(job.tenant_id) as transaction:
            require_same_original(await VideoStore(transaction.connection).original_digest(job.video_id), digest)

    def _uploader(self, job: Job, frames_folder: Path, report: ReportProgress) -> OutputUploader:
        stored = _stage_progress(rules.SampleStage.UPLOAD, report)
        at_once = self.settings.uploads_at_once
        return OutputUploader(self.objects, frames_folder, _frame_keys(job), at_once, stored, frees_disk=True)

    async def _sample(
        self, original: Path, options: SampleOptions, uploader: OutputUploader, report: ReportProgress
    ) -> SampleSet:
        report_share = _stage_progress(rules.SampleStage.SAMPLE, report)

        def add(file: OutputFile) -> None:
            if rules.is_frame(file.path):
                uploader.add(file)

        made = await sample(
            self.sandbox, original, uploader.folder, options, lambda percent: report_share(percent / 100), add
        )
        uploader.finish(made.kept)
        return made

    def _effects(self, video_id: UUID, sampling: rules.Sampling, times: Sequence[int]) -> Effects:
        """The job names the folder of the frames: with thousands of paths its payload would be too large."""

        async def effects(transaction: Transaction) -> None:
            await FrameStore(transaction.connection).replace(video_id, sampling, times)
            folder = rules.frames_prefix(video_id, sampling.attempt)
            languages = self.settings.ocr_languages
            await enqueue(transaction, OcrPayload(video_id=video_id, frame_paths=(folder,), languages=languages))

        return effects


def _frame_keys(job: Job) -> Callable[[str], ObjectKey]:
    return lambda name: rules.frame_key(job.video_id, job.attempt, name)


def _stage_progress(stage: rules.SampleStage, report: ReportProgress) -> Callable[[float], None]:
    return lambda share: report(stage.percent(share))


def _frame_times(manifest: Path) -> list[int]:
    return [sample.time_ms for sample in read_manifest(manifest)]
