"""Takes the pictures of a video that are worth reading, from its original, under the attempt's own prefix.

Invariant: nobody reads a picture before all of them are stored; the list of them and the next job are one transaction.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from touchline.media.probe import probe
from touchline.media.sampling import read_manifest, sample
from touchline.media.sampling_model import SampleOptions, Samples
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.keys import ObjectKey
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.platform.scratch import Scratch
from touchline.platform.together import together
from touchline.process.originals import fetch_original, require_same
from touchline.process.queue.handler import Finished, Tell
from touchline.process.queue.model import Job
from touchline.process.queue.payloads import OcrPayload, SamplePayload
from touchline.process.queue.service import Effects, enqueue
from touchline.process.settings import ProcessSettings
from touchline.process.videos.store import VideoStore

from . import rules
from .model import Sampling
from .store import FrameStore
from .storing import PictureStoring, undone_on_failure


@dataclass(frozen=True, slots=True)
class Sampler:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    settings: ProcessSettings

    async def work(self, job: Job, payload: SamplePayload, tell: Tell) -> Finished:
        prefix = rules.frames_prefix(job.video_id, job.attempt)
        async with self.scratch.folder() as folder, undone_on_failure(self.objects, prefix):
            original, pictures = folder / "original", folder / "pictures"
            pictures.mkdir()
            await self._fetch(job, payload, original, tell)
            duration_ms = (await probe(self.sandbox, original)).duration_ms
            options = SampleOptions(rules.step_ms(payload.target_fps, duration_ms), payload.dedupe_threshold)
            stored = _share(rules.UPLOAD_PERCENT, rules.DONE_PERCENT, tell)
            storing = PictureStoring(self.objects, pictures, _keys(job), stored)
            lanes = [storing.lane() for _ in range(self.settings.uploads_at_once)]
            [made] = filter(None, await together(self._sample(original, options, storing, tell), *lanes))
            times = await asyncio.to_thread(_times, pictures / made.manifest)
        sampling = Sampling(job.attempt, options.every_ms, made.width, made.height, made.source.duration_ms, len(times))
        return Finished(asdict(sampling), self._effects(job.video_id, sampling, times))

    async def _fetch(self, job: Job, payload: SamplePayload, original: Path, tell: Tell) -> None:
        key, largest = payload.s3_original_path, self.settings.largest_original
        arrived = _share(0, rules.FETCH_PERCENT, tell)
        digest = await fetch_original(self.objects, key, original, largest, arrived)
        async with self.database.transaction(job.tenant_id) as transaction:
            require_same(await VideoStore(transaction.connection).original_digest(job.video_id), digest)

    async def _sample(self, original: Path, options: SampleOptions, storing: PictureStoring, tell: Tell) -> Samples:
        told = _share(rules.FETCH_PERCENT, rules.UPLOAD_PERCENT, tell)
        made = await sample(
            self.sandbox, original, storing.folder, options, lambda percent: told(percent / 100), storing.take
        )
        storing.finish(made.kept, self.settings.uploads_at_once)
        return made

    def _effects(self, video_id: UUID, sampling: Sampling, times: Sequence[int]) -> Effects:
        """The pictures are named by their folder: thousands of paths would make a job that nobody can handle."""

        async def effects(transaction: Transaction) -> None:
            await FrameStore(transaction.connection).replace(video_id, sampling, times)
            folder = rules.frames_prefix(video_id, sampling.attempt)
            languages = self.settings.ocr_languages
            await enqueue(transaction, OcrPayload(video_id=video_id, frame_paths=(folder,), languages=languages))

        return effects


def _keys(job: Job) -> Callable[[str], ObjectKey]:
    return lambda name: rules.frame_key(job.video_id, job.attempt, name)


def _share(start: int, stop: int, tell: Tell) -> Callable[[float], None]:
    return lambda share: tell(rules.percent(share, start, stop))


def _times(manifest: Path) -> list[int]:
    return [sample.time_ms for sample in read_manifest(manifest)]
