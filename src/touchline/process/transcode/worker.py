"""Makes a video playable: the original in, HLS and a poster out, under the attempt's own prefix.

Invariant: nothing points at an attempt before all of it is stored. A stale attempt leaves objects that nobody names.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from touchline.contracts.events.videos import VideoTranscoded
from touchline.kernel.ids import artifact_hash
from touchline.media.hls import make_hls
from touchline.media.model import HlsPackage
from touchline.media.poster import make_poster
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.keys import ObjectKey
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.process.originals import fetching_original
from touchline.process.queue.handler import Finished, Tell
from touchline.process.queue.model import Job
from touchline.process.queue.payloads import TranscodePayload
from touchline.process.scratch import Scratch
from touchline.process.settings import ProcessSettings
from touchline.process.videos.model import Rendition
from touchline.process.videos.store import VideoStore

from . import rules
from .pointers import PointerWriter
from .rules import Stage


@dataclass(frozen=True, slots=True)
class Transcoder:
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    pointers: PointerWriter
    settings: ProcessSettings

    async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
        async with self.scratch.folder() as folder:
            original, hls_folder, poster_folder = folder / "original", folder / "hls", folder / "poster"
            hls_folder.mkdir()
            poster_folder.mkdir()
            async with self._fetching(payload, original, tell) as fetched:
                hls = await make_hls(
                    self.sandbox, original, hls_folder, lambda percent: tell(Stage.MAKE.percent(percent / 100)), fetched
                )
            try:
                async with asyncio.TaskGroup() as group:  # storing waits for the store, the poster for a processor
                    group.create_task(self._store_hls(job, hls_folder, hls, tell))
                    group.create_task(self._store_poster(job, original, poster_folder))
            except ExceptionGroup as errors:
                raise errors.exceptions[0] from errors
        return self._finished(job, hls)

    def _fetching(
        self, payload: TranscodePayload, original: Path, tell: Tell
    ) -> AbstractAsyncContextManager[asyncio.Task[None]]:
        key, largest = payload.s3_original_path, self.settings.largest_original
        return fetching_original(self.objects, key, original, largest, lambda share: tell(Stage.FETCH.percent(share)))

    async def _store_poster(self, job: Job, original: Path, folder: Path) -> None:
        poster = await make_poster(self.sandbox, original, folder)
        await self._put(folder / poster.path, rules.poster_key(job.video_id, job.attempt))

    async def _store_hls(self, job: Job, folder: Path, hls: HlsPackage, tell: Tell) -> None:
        """Segments first, then playlists, the master last."""
        stored = 0

        def count() -> None:
            nonlocal stored
            stored += 1
            tell(Stage.UPLOAD.percent(stored / len(hls.files)))

        for wave in rules.upload_waves((file.path for file in hls.files), hls.master):
            files = [(folder / path, rules.proxy_key(job.video_id, job.attempt, path)) for path in wave]
            await self._put_all(files, count)

    async def _put_all(self, files: list[tuple[Path, ObjectKey]], count: Callable[[], None]) -> None:
        """A few lanes that take from one list: a long video has thousands of segments."""
        waiting = iter(files)

        async def lane(files: Iterator[tuple[Path, ObjectKey]]) -> None:
            for path, key in files:
                await self._put(path, key)
                count()

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.settings.uploads_at_once):
                    group.create_task(lane(waiting))
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from errors

    async def _put(self, path: Path, key: ObjectKey) -> None:
        await self.objects.put_new(key, path, content_type=rules.content_type(key))

    def _finished(self, job: Job, hls: HlsPackage) -> Finished:
        rendition = rendition_of(job.video_id, job.attempt, hls)

        async def effects(transaction: Transaction) -> None:
            revision = await VideoStore(transaction.connection).transcoded(job.video_id, rendition)
            transcoded = VideoTranscoded(
                artifact_hash=artifact_hash(job.video_id),
                job_id=job.id,
                attempt=job.attempt,
                manifest_key=rendition.s3_proxy_path,
                poster_key=rendition.s3_thumb_path,
                duration_ms=rendition.duration_ms,
                width=rendition.width,
                height=rendition.height,
            )
            transaction.announce(transcoded, revision=revision)

        async def afterwards() -> None:
            await self.pointers.write(job.tenant_id, job.video_id)

        return Finished(asdict(rendition), effects, afterwards)


def rendition_of(video_id: UUID, attempt: int, hls: HlsPackage) -> Rendition:
    """The video as its best rendition shows it."""
    best = max(hls.renditions, key=lambda rendition: rendition.width * rendition.height)
    return Rendition(
        s3_proxy_path=rules.proxy_key(video_id, attempt, hls.master),
        s3_thumb_path=rules.poster_key(video_id, attempt),
        duration_ms=best.duration_ms,
        width=best.width,
        height=best.height,
    )
