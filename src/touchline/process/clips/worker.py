"""Cuts a clip: the original in, one MP4 file out, under the clip's own key.

Invariant: the object appears as a whole or not at all, and is never written again. Nobody reads it before the row of a
completed job names it; an attempt that comes later takes it as it is.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from touchline.contracts.events.videos import ClipMade
from touchline.kernel import AlreadyExists, NotFound, artifact_hash
from touchline.media.rules import ClipFile, ClipRange
from touchline.media.sandbox import Sandbox
from touchline.media.tasks import make_clip
from touchline.platform.files import Scratch
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.files import fetch_original, require_same_original
from touchline.process.queue.handler import Finished, ReportProgress
from touchline.process.queue.jobs import ClipGeneratePayload, Job
from touchline.process.settings import ProcessSettings
from touchline.process.videos.store import VideoStore

from . import rules
from .store import ClipStore


@dataclass(frozen=True, slots=True)
class ClipCutter:
    database: Database
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    settings: ProcessSettings

    async def work(self, job: Job, payload: ClipGeneratePayload, report: ReportProgress) -> Finished:
        made_from = await self._require_source(job)
        key = rules.clip_key(payload.video_id, payload.clip_id)
        made = await self._stored(key) or await self._make(payload, key, made_from, report)
        report(rules.ClipStage.STORED.percent(1.0))
        return _finished(job, payload, made)

    async def _require_source(self, job: Job) -> str | None:
        """The original of a deleted video stays for a while, but no clips are cut from it. Returns its digest."""
        async with self.database.transaction(job.tenant_id) as transaction:
            if not await ClipStore(transaction.connection).has_source(job.video_id):
                raise rules.SourceDeleted("the video was deleted", why=f"a clip of {job.video_id} was requested")
            return await VideoStore(transaction.connection).original_digest(job.video_id)

    async def _stored(self, key: str) -> rules.CutClip | None:
        try:
            info = await self.objects.head(key)
        except NotFound:
            return None
        return rules.CutClip(key, info.size_bytes, rules.parse_cut(info.metadata))

    async def _make(
        self, payload: ClipGeneratePayload, key: str, made_from: str | None, report: ReportProgress
    ) -> rules.CutClip:
        async with self.scratch.folder() as folder:
            clip, file = await self._cut(payload, folder, made_from, report)
            try:
                metadata = rules.cut_metadata(clip.cut)
                await self.objects.put_new(key, file, content_type=rules.CONTENT_TYPE, metadata=metadata)
            except AlreadyExists:  # another attempt was faster
                if stored := await self._stored(key):
                    return stored
                raise
        return rules.CutClip(key, clip.size_bytes, clip.cut)

    async def _cut(
        self, payload: ClipGeneratePayload, folder: Path, made_from: str | None, report: ReportProgress
    ) -> tuple[ClipFile, Path]:
        original, output = folder / "original", folder / "clip"
        output.mkdir()
        key, largest = payload.s3_original_path, self.settings.largest_original
        digest = await fetch_original(
            self.objects, key, original, largest, lambda share: report(rules.ClipStage.FETCH.percent(share))
        )
        require_same_original(made_from, digest)
        wanted = ClipRange(payload.t_start, payload.t_end, payload.padding_ms)
        clip = await make_clip(
            self.sandbox, original, output, wanted, lambda percent: report(rules.ClipStage.CUT.percent(percent / 100))
        )
        return clip, output / clip.path


def _finished(job: Job, payload: ClipGeneratePayload, made: rules.CutClip) -> Finished:
    async def effects(transaction: Transaction) -> None:
        clips = ClipStore(transaction.connection)
        revision = await clips.made(payload.clip_id, payload.video_id, job.id, made)
        event = ClipMade(
            artifact_hash=artifact_hash(payload.clip_id),
            job_id=job.id,
            attempt=job.attempt,
            clip_key=made.s3_clip_path,
            size_bytes=made.size_bytes,
            cut_start_ms=made.cut.start_ms,
            cut_end_ms=made.cut.end_ms,
            frames=made.cut.frames,
            width=made.cut.width,
            height=made.cut.height,
        )
        transaction.announce(event, revision=revision)

    return Finished({"s3_clip_path": made.s3_clip_path, "size_bytes": made.size_bytes, **asdict(made.cut)}, effects)
