"""Makes a video playable: the original in, HLS, a poster and a storyboard out, under the attempt's own prefix.

Invariant: nothing points at what is not stored as a whole. A stale attempt leaves objects that nobody names.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from uuid import UUID

from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.hls import make_hls
from touchline.media.model import HlsPackage
from touchline.media.poster import make_poster
from touchline.media.sandbox import Sandbox
from touchline.media.storyboard import make_storyboard
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.platform.scratch import Scratch
from touchline.platform.together import together
from touchline.process.originals import fetch_original
from touchline.process.queue.handler import Finished, Tell, nobody_waits
from touchline.process.queue.model import Job
from touchline.process.queue.payloads import SamplePayload, TranscodePayload
from touchline.process.queue.service import enqueue
from touchline.process.settings import ProcessSettings
from touchline.process.videos.model import Rendition

from . import rules
from .publishing import Publisher, announce
from .rules import Stage
from .storing import Attempt, Storing, undone_on_failure

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Transcoder:
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    publisher: Publisher
    settings: ProcessSettings

    async def work(self, job: Job, payload: TranscodePayload, tell: Tell) -> Finished:
        attempt = Attempt(job.video_id, job.attempt)
        async with self.scratch.folder() as folder, undone_on_failure(self.objects, attempt):
            original, hls_folder = folder / "original", folder / "hls"
            for name in ("hls", "poster", "storyboard"):
                (folder / name).mkdir()
            digest = await self._fetch(payload, original, tell)
            storing = Storing(self.objects, attempt, hls_folder, lambda share: tell(Stage.UPLOAD.percent(share)))
            lanes = [storing.lane() for _ in range(self.settings.uploads_at_once)]
            published = self._publish(job, original, storing)
            [hls] = filter(None, await together(self._make(original, storing, tell), published, *lanes))
            storyboard = await self._store_storyboard(job, original, folder / "storyboard", tell)
        made = rendition_of(job.video_id, job.attempt, hls)
        return self._finished(job, payload, replace(made, s3_storyboard_path=storyboard, original_digest=digest))

    async def _fetch(self, payload: TranscodePayload, original: Path, tell: Tell) -> str:
        key, largest = payload.s3_original_path, self.settings.largest_original
        return await fetch_original(
            self.objects, key, original, largest, lambda share: tell(Stage.FETCH.percent(share))
        )

    async def _make(self, original: Path, storing: Storing, tell: Tell) -> HlsPackage:
        hls = await make_hls(self.sandbox, original, storing.folder, _within(Stage.MAKE, tell), storing.take)
        storing.finish(len(hls.files), self.settings.uploads_at_once)
        return hls

    async def _publish(self, job: Job, original: Path, storing: Storing) -> None:
        await self._store_poster(job, original, storing.folder.parent / "poster")
        await self.publisher.publish(job, storing.attempt, storing.folder, await storing.masters.get())
        nobody_waits()

    async def _store_poster(self, job: Job, original: Path, folder: Path) -> None:
        poster = await make_poster(self.sandbox, original, folder)
        for path in (poster.path, *(file.path for file in poster.smaller)):
            key = rules.poster_key(job.video_id, job.attempt, path)
            await self.objects.put_new(key, folder / path, content_type=rules.content_type(key))

    async def _store_storyboard(self, job: Job, original: Path, folder: Path, tell: Tell) -> str | None:
        """None where none can be made: the video plays without it."""
        try:
            board = await make_storyboard(self.sandbox, original, folder, _within(Stage.STORYBOARD, tell))
        except (InvalidMedia, MediaLimitExceeded) as error:
            logger.warning("no storyboard", extra={"video_id": str(job.video_id), "reason": str(error)})
            return None
        for file in board.files:
            key = rules.proxy_key(job.video_id, job.attempt, file.path)
            await self.objects.put_new(key, folder / file.path, content_type=rules.content_type(key))
        return rules.proxy_key(job.video_id, job.attempt, board.directions)

    def _finished(self, job: Job, payload: TranscodePayload, rendition: Rendition) -> Finished:
        async def effects(transaction: Transaction) -> None:
            await announce(transaction, job, rendition)
            if payload.is_clip:  # its text is found in the video that it was cut from
                return
            sampled = SamplePayload(
                video_id=job.video_id, s3_original_path=payload.s3_original_path, target_fps=self.settings.sample_fps
            )
            await enqueue(transaction, sampled)

        async def afterwards() -> None:
            await self.publisher.pointers.write(job.tenant_id, job.video_id)

        return Finished(asdict(rendition), effects, afterwards)


def _within(stage: Stage, tell: Tell) -> Tell:
    return lambda percent: tell(stage.percent(percent / 100))


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
