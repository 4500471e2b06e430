"""Makes a video playable: the original in, HLS and a poster out, under the attempt's own prefix.

Invariant: nothing points at an attempt before all of it is stored. A stale attempt leaves objects that nobody names.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

from touchline.contracts.events.videos import VideoTranscoded
from touchline.kernel.ids import artifact_hash
from touchline.media.hls import make_hls
from touchline.media.model import HlsPackage
from touchline.media.poster import make_poster
from touchline.media.sandbox import Sandbox
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.platform.together import together
from touchline.process.originals import fetch_original
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
from .storing import Attempt, Storing, undone_on_failure


@dataclass(frozen=True, slots=True)
class Transcoder:
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    pointers: PointerWriter
    settings: ProcessSettings

    async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
        attempt = Attempt(job.video_id, job.attempt)
        async with self.scratch.folder() as folder, undone_on_failure(self.objects, attempt):
            original, hls_folder, poster_folder = folder / "original", folder / "hls", folder / "poster"
            hls_folder.mkdir()
            poster_folder.mkdir()
            await self._fetch(payload, original, tell)
            storing = Storing(self.objects, attempt, hls_folder, lambda share: tell(Stage.UPLOAD.percent(share)))
            lanes = [storing.lane() for _ in range(self.settings.uploads_at_once)]
            poster = self._store_poster(job, original, poster_folder)
            [hls] = filter(None, await together(self._make(original, storing, tell), poster, *lanes))
        return self._finished(job, hls)

    async def _fetch(self, payload: TranscodePayload, original: Path, tell: Tell) -> None:
        key, largest = payload.s3_original_path, self.settings.largest_original
        await fetch_original(self.objects, key, original, largest, lambda share: tell(Stage.FETCH.percent(share)))

    async def _make(self, original: Path, storing: Storing, tell: Tell) -> HlsPackage:
        def progress(percent: int) -> None:
            tell(Stage.MAKE.percent(percent / 100))

        hls = await make_hls(self.sandbox, original, storing.folder, progress, storing.take)
        storing.finish(len(hls.files), self.settings.uploads_at_once)
        return hls

    async def _store_poster(self, job: Job, original: Path, folder: Path) -> None:
        poster = await make_poster(self.sandbox, original, folder)
        key = rules.poster_key(job.video_id, job.attempt)
        await self.objects.put_new(key, folder / poster.path, content_type=rules.content_type(key))

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
