"""Transcodes a video: the original in; HLS, a poster and a storyboard out, under the attempt's own prefix.

The video becomes playable with its first complete rendition, while the others are still being made. Invariants:
what is published is stored completely, by the attempt that holds the job; a stale attempt leaves objects that
nothing points to. The fixed keys are written after the commit that chose the attempt, by whoever comes first;
writing them again does no harm.

The keys of what a transcode stores, its playlists, and how far the job is. Pure.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from touchline.contracts.events.videos import VideoTranscoded
from touchline.kernel import TenantId, artifact_hash
from touchline.media.errors import InvalidMedia, MediaLimitExceeded
from touchline.media.model import FIRST_MASTER, MASTER, HlsPackage
from touchline.media.playlists import read_segments
from touchline.media.sandbox import Pause, Sandbox
from touchline.media.tasks import make_hls, make_poster, make_storyboard
from touchline.platform.concurrency import gather_or_cancel
from touchline.platform.files import Scratch
from touchline.platform.objects.rules import ObjectKey, join_key, object_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process import files
from touchline.process.queue.handler import Finished, ReportProgress, continue_in_background, write_while_held
from touchline.process.queue.jobs import Job, SamplePayload, TranscodePayload
from touchline.process.queue.rules import ProgressStage
from touchline.process.queue.service import enqueue
from touchline.process.settings import ProcessSettings
from touchline.process.videos.store import Pointers, VideoRendition, VideoStore

MANIFEST = "index.m3u8"
POSTER = "poster.jpg"
_SIZE = re.compile(r"^#EXT-X-STREAM-INF:.*?RESOLUTION=(\d+)x(\d+).*\n(\S+)$", re.MULTILINE)
_URI = re.compile(r'(URI=")([^"]+)(")')


class TranscodeStage(ProgressStage):
    FETCH = (0, 10)
    MAKE = (10, 80)
    UPLOAD = (80, 90)
    STORYBOARD = (90, 99)


def proxy_key(video_id: UUID, attempt: int, path: str) -> ObjectKey:
    return join_key("videos", "proxy", str(video_id), str(attempt), *path.split("/"))


def poster_key(video_id: UUID, attempt: int, name: str = POSTER) -> ObjectKey:
    return join_key("thumbs", str(video_id), str(attempt), name)


def attempt_prefixes(video_id: UUID, attempt: int) -> tuple[ObjectKey, ObjectKey]:
    """Everything that one attempt may have stored."""
    return (
        join_key("videos", "proxy", str(video_id), str(attempt)),
        join_key("thumbs", str(video_id), str(attempt)),
    )


def fixed_manifest_key(video_id: UUID) -> ObjectKey:
    return join_key("videos", "proxy", str(video_id), MANIFEST)


def fixed_poster_key(video_id: UUID) -> ObjectKey:
    return join_key("thumbs", str(video_id), POSTER)


def best_rendition(master: str) -> tuple[int, int, str]:
    """Width, height and playlist of the best rendition in one of our master playlists."""
    renditions = ((int(width), int(height), playlist) for width, height, playlist in _SIZE.findall(master))
    return max(renditions, key=lambda each: each[0] * each[1])


def fixed_playlist(playlist: str, folder: str) -> str:
    """The same playlist, to be read one level above the folder in which it is stored."""
    object_key(folder)
    return "\n".join(_fixed_playlist_line(line, folder) for line in playlist.splitlines()) + "\n"


def _fixed_playlist_line(line: str, folder: str) -> str:
    if line.startswith("#"):
        return _URI.sub(rf"\g<1>{folder}/\g<2>\g<3>", line)
    return f"{folder}/{line}" if line.strip() else line


MASTERS = (FIRST_MASTER, MASTER)
LARGEST_PLAYLIST = 16 * 1024**2
LARGEST_POSTER = 32 * 1024**2
ABANDONED_AFTER = timedelta(minutes=1)  # until then the worker writes them itself
MOST_PER_PASS = 100

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PointerWriter:
    database: Database
    objects: ObjectStore

    async def write(self, tenant_id: TenantId, video_id: UUID) -> None:
        """Until they show what the table says: a newer attempt may win meanwhile."""
        while pointers := await self._unwritten(tenant_id, video_id):
            await self._write_objects(pointers)
            async with self.database.transaction(tenant_id) as transaction:
                await VideoStore(transaction.connection).pointers_written(pointers)

    async def run_pass(self) -> bool:
        """Writes what dead workers have left unwritten; returns whether there is more."""
        async with self.database.system("find fixed keys that nobody wrote") as transaction:
            found = await VideoStore(transaction.connection).unwritten_pointers(ABANDONED_AFTER, MOST_PER_PASS)
        failed = 0
        for pointers in found:
            try:
                await self.write(pointers.tenant_id, pointers.video_id)
            except Exception:
                failed += 1
                logger.exception("fixed keys not written", extra={"video_id": str(pointers.video_id)})
        return len(found) == MOST_PER_PASS and not failed

    async def _unwritten(self, tenant_id: TenantId, video_id: UUID) -> Pointers | None:
        async with self.database.transaction(tenant_id) as transaction:
            return await VideoStore(transaction.connection).pointers(video_id)

    async def _write_objects(self, pointers: Pointers) -> None:
        attempt = pointers.s3_proxy_path.split("/")[-2]
        playlist = await self.objects.get(pointers.s3_proxy_path, at_most=LARGEST_PLAYLIST)
        poster = await self.objects.get(pointers.s3_thumb_path, at_most=LARGEST_POSTER)
        video_id = pointers.video_id
        await self.objects.replace(fixed_poster_key(video_id), poster, content_type=files.JPEG_TYPE)
        await self.objects.replace(
            fixed_manifest_key(video_id),
            fixed_playlist(playlist.decode(), attempt).encode(),
            content_type=files.PLAYLIST_TYPE,
        )


@dataclass(frozen=True, slots=True)
class Publisher:
    database: Database
    pointers: PointerWriter

    async def publish(self, held: Job, outputs: files.AttemptOutputs, folder: Path, master: str) -> None:
        """What the master playlist in the folder names, and the poster, are stored."""
        rendition = await asyncio.to_thread(published_rendition, held, folder, master)

        async def effects(transaction: Transaction) -> None:
            outputs.is_published = True  # from the commit on, whose response may be lost
            await announce_transcoded(transaction, held, rendition)

        await write_while_held(self.database, held, held.progress_percent or 0, effects)
        try:
            await self.pointers.write(held.tenant_id, held.video_id)
        except Exception:
            logger.exception("fixed keys left for later", extra={"video_id": str(held.video_id)})


async def announce_transcoded(transaction: Transaction, held: Job, rendition: VideoRendition) -> None:
    revision = await VideoStore(transaction.connection).transcoded(held.video_id, rendition)
    transcoded = VideoTranscoded(
        artifact_hash=artifact_hash(held.video_id),
        job_id=held.id,
        attempt=held.attempt,
        manifest_key=rendition.s3_proxy_path,
        poster_key=rendition.s3_thumb_path,
        duration_ms=rendition.duration_ms,
        width=rendition.width,
        height=rendition.height,
        storyboard_key=rendition.s3_storyboard_path,
    )
    transaction.announce(transcoded, revision=revision)


def published_rendition(held: Job, folder: Path, master: str) -> VideoRendition:
    """As its playlists say: the other renditions are still being made."""
    width, height, playlist = best_rendition((folder / master).read_text())
    seconds = sum(segment.duration_s for segment in read_segments((folder / playlist).read_text()))
    return VideoRendition(
        s3_proxy_path=proxy_key(held.video_id, held.attempt, master),
        s3_thumb_path=poster_key(held.video_id, held.attempt),
        duration_ms=round(seconds * 1000),
        width=width,
        height=height,
    )


@dataclass(frozen=True, slots=True)
class Transcoder:
    objects: ObjectStore
    sandbox: Sandbox
    scratch: Scratch
    publisher: Publisher
    settings: ProcessSettings
    pause: Pause = field(default_factory=Pause)  # for what is made of a video that plays already

    async def work(self, job: Job, payload: TranscodePayload, report: ReportProgress) -> Finished:
        outputs = files.AttemptOutputs(attempt_prefixes(job.video_id, job.attempt))
        async with self.scratch.folder() as folder, files.deleted_on_failure(self.objects, outputs):
            original, hls_folder = folder / "original", folder / "hls"
            for name in ("hls", "poster", "storyboard"):
                (folder / name).mkdir()
            digest = await self._fetch(payload, original, report)
            uploader = self._uploader(job, hls_folder, report)
            made = self._make(original, uploader, report)
            published = self._publish(job, original, outputs, uploader)
            [hls] = filter(None, await gather_or_cancel(made, published, *uploader.uploads()))
            storyboard = await self._store_storyboard(job, original, folder / "storyboard", report)
        rendition = rendition_of(job.video_id, job.attempt, hls)
        return self._finished(job, payload, replace(rendition, s3_storyboard_path=storyboard, original_digest=digest))

    async def _fetch(self, payload: TranscodePayload, original: Path, report: ReportProgress) -> str:
        key, largest = payload.s3_original_path, self.settings.largest_original
        return await files.fetch_original(
            self.objects, key, original, largest, lambda share: report(TranscodeStage.FETCH.percent(share))
        )

    def _uploader(self, job: Job, folder: Path, report: ReportProgress) -> files.OutputUploader:
        def key(path: str) -> ObjectKey:
            return proxy_key(job.video_id, job.attempt, path)

        def on_stored(share: float) -> None:
            report(TranscodeStage.UPLOAD.percent(share))

        return files.OutputUploader(
            self.objects, folder, key, self.settings.uploads_at_once, on_stored, barriers=MASTERS
        )

    async def _make(self, original: Path, uploader: files.OutputUploader, report: ReportProgress) -> HlsPackage:
        hls = await make_hls(
            self.sandbox, original, uploader.folder, _stage_progress(TranscodeStage.MAKE, report), uploader.add
        )
        uploader.finish(len(hls.files))
        return hls

    async def _publish(
        self, job: Job, original: Path, outputs: files.AttemptOutputs, uploader: files.OutputUploader
    ) -> None:
        await self._store_poster(job, original, uploader.folder.parent / "poster")
        await self.publisher.publish(job, outputs, uploader.folder, await uploader.stored_barriers.get())
        continue_in_background()

    async def _store_poster(self, job: Job, original: Path, folder: Path) -> None:
        poster = await make_poster(self.sandbox, original, folder)
        names = (poster.path, *(file.path for file in poster.smaller))
        keys = {name: poster_key(job.video_id, job.attempt, name) for name in names}
        await gather_or_cancel(
            *(
                self.objects.put_new(key, folder / name, content_type=files.content_type(key))
                for name, key in keys.items()
            )
        )

    async def _store_storyboard(self, job: Job, original: Path, folder: Path, report: ReportProgress) -> str | None:
        """None where none can be made: the video plays without it."""
        behind = self.sandbox.pausing(self.pause)
        try:
            board = await make_storyboard(behind, original, folder, _stage_progress(TranscodeStage.STORYBOARD, report))
        except (InvalidMedia, MediaLimitExceeded) as error:
            logger.warning("no storyboard", extra={"video_id": str(job.video_id), "reason": str(error)})
            return None
        for file in board.files:
            key = proxy_key(job.video_id, job.attempt, file.path)
            await self.objects.put_new(key, folder / file.path, content_type=files.content_type(key))
        return proxy_key(job.video_id, job.attempt, board.directions)

    def _finished(self, job: Job, payload: TranscodePayload, rendition: VideoRendition) -> Finished:
        async def effects(transaction: Transaction) -> None:
            await announce_transcoded(transaction, job, rendition)
            if payload.is_clip:  # its text is found through the video that it was cut from
                return
            sampled = SamplePayload(
                video_id=job.video_id, s3_original_path=payload.s3_original_path, target_fps=self.settings.sample_fps
            )
            await enqueue(transaction, sampled)

        async def after_commit() -> None:
            await self.publisher.pointers.write(job.tenant_id, job.video_id)

        return Finished(asdict(rendition), effects, after_commit)


def _stage_progress(stage: TranscodeStage, report: ReportProgress) -> ReportProgress:
    return lambda percent: report(stage.percent(percent / 100))


def rendition_of(video_id: UUID, attempt: int, hls: HlsPackage) -> VideoRendition:
    """The video with the size and duration of its best rendition."""
    best = max(hls.renditions, key=lambda rendition: rendition.width * rendition.height)
    return VideoRendition(
        s3_proxy_path=proxy_key(video_id, attempt, hls.master),
        s3_thumb_path=poster_key(video_id, attempt),
        duration_ms=best.duration_ms,
        width=best.width,
        height=best.height,
    )
