"""Deletes the rows and objects of a video, checks that they are gone, and announces it; also deletes the history of
jobs that ended long ago.

Invariant: requested once or often, killed anywhere, on two machines at once: the result is the same. The rows go
first, so that a worker on the video loses its lease; the objects are checked again once it must have stopped.

`VideoHoldings` by the tables of processing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from prometheus_client import Counter

from touchline.contracts.events.videos import VideoPurged
from touchline.contracts.holdings import VideoHolding
from touchline.kernel import artifact_hash, video_id
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.clips.rules import clip_folder, clip_key
from touchline.process.pipeline_logs import log_key
from touchline.process.purge.store import HeldVideo, HoldingStore
from touchline.process.queue.jobs import TranscodePayload
from touchline.process.queue.service import announce_change, enqueue
from touchline.process.queue.store import JobStore
from touchline.process.search.service import hide_video
from touchline.process.settings import ProcessSettings

from .store import TABLES, Purge, PurgeStore

PURGED = Counter("touchline_videos_purged", "Videos that this process purged completely.")


FOLDERS = (
    ("videos", "proxy"),
    ("frames",),
    ("thumbs",),
)  # originals belong to the serve plane, and so do the files of registered clips, which are their originals


def object_prefixes(video_id: UUID) -> list[ObjectKey]:
    return [join_key(*folder, str(video_id)) for folder in FOLDERS]


ACTOR, REASON = "purge", "the video is purged"
ROWS_AT_ONCE, LOGS_AT_ONCE, JOBS_AT_ONCE = 5000, 16, 1000
MOST_PER_PASS = 100
CLAIM_TIMEOUT = timedelta(minutes=10)  # for one video; then another process may try

logger = logging.getLogger(__name__)


async def request_purge(transaction: Transaction, video_id: UUID) -> None:
    """Hides the video from search and cancels its jobs. The end is announced even if the video is unknown."""
    store, jobs = PurgeStore(transaction.connection), JobStore(transaction.connection)
    await hide_video(transaction, video_id)
    for job_id in await store.active_jobs(video_id):
        for ended in await jobs.cancel(job_id, ACTOR, REASON):
            announce_change(transaction, ended)
    await store.request(video_id)


@dataclass(frozen=True, slots=True)
class Purger:
    database: Database
    objects: ObjectStore
    settings: ProcessSettings

    async def run_pass(self) -> bool:
        """True if more are waiting. A video that cannot be purged does not block the others."""
        for _ in range(MOST_PER_PASS):
            purge = await self._claim_next()
            if purge is None:
                return False
            try:
                await self._advance(purge)
            except Exception:
                logger.exception("purge failed, will be retried", extra={"video_id": str(purge.video_id)})
        return True

    async def delete_history(self) -> bool:
        """Deletes a batch of the history of jobs that ended long ago; true if there is more."""
        async with self.database.system("forget the history of finished jobs") as transaction:
            store = PurgeStore(transaction.connection)
            return await store.delete_history(self.settings.history_kept, JOBS_AT_ONCE) == JOBS_AT_ONCE

    async def _claim_next(self) -> Purge | None:
        async with self.database.system("find videos to purge") as transaction:
            return await PurgeStore(transaction.connection).claim(CLAIM_TIMEOUT)

    async def _advance(self, purge: Purge) -> None:
        if purge.rows_gone_at is None:
            purge = await self._delete_rows(purge)
        found = await self._delete_objects(purge)
        if purge.rows_gone_at is None or found:
            await self._check_again_later(purge, found)
        else:
            await self._finish(purge)

    async def _delete_rows(self, purge: Purge) -> Purge:
        async with self.database.transaction(purge.tenant_id) as transaction:
            await request_purge(transaction, purge.video_id)  # again: jobs may have been enqueued since
        async with self.database.system("purge a video") as transaction:
            purge = await PurgeStore(transaction.connection).note_jobs(purge)
        for table in TABLES:
            deleted = ROWS_AT_ONCE
            while deleted == ROWS_AT_ONCE:
                async with self.database.system("purge a video") as transaction:
                    deleted = await PurgeStore(transaction.connection).delete_some(purge, table, ROWS_AT_ONCE)
        async with self.database.system("purge a video") as transaction:
            await PurgeStore(transaction.connection).delete_rest(purge)
        return purge

    async def _delete_objects(self, purge: Purge) -> int:
        """Returns how many there were. By then the object store has listed each prefix as empty."""
        found = 0
        for prefix in object_prefixes(purge.video_id):
            more = True
            while more:
                deleted = await self.objects.delete_prefix(prefix)
                found, more = found + deleted.count, deleted.more
        found += await self._delete_clips(purge)
        for start in range(0, len(purge.job_ids), LOGS_AT_ONCE):
            logs = [log_key(job_id) for job_id in purge.job_ids[start : start + LOGS_AT_ONCE]]
            await asyncio.gather(*(self.objects.delete(key) for key in logs))
        return found

    async def _delete_clips(self, purge: Purge) -> int:
        """What lies among the clips of it and is none that lives on."""
        async with self.database.system("purge a video") as transaction:
            living = await PurgeStore(transaction.connection).clips_of(purge)
        kept, folder = {clip_key(purge.video_id, clip_id) for clip_id in living}, clip_folder(purge.video_id) + "/"
        found, after = 0, ""
        while after is not None:
            page = await self.objects.list(folder, after=after)
            unwanted = [item.key for item in page.objects if item.key not in kept]
            for key in unwanted:
                await self.objects.delete(key)
            found, after = found + len(unwanted), page.next_after
        return found

    async def _check_again_later(self, purge: Purge, found: int) -> None:
        async with self.database.system("purge a video") as transaction:
            await PurgeStore(transaction.connection).postpone(purge, found, self.settings.purge_second_look)

    async def _finish(self, purge: Purge) -> None:
        async with self.database.system("purge a video") as transaction:
            objects = await PurgeStore(transaction.connection).finish(purge)
            if objects is not None:
                gone = VideoPurged(artifact_hash=artifact_hash(purge.video_id), objects=objects)
                transaction.announce(gone, tenant_id=purge.tenant_id)
                PURGED.inc()


NOTHING, EVERYTHING = UUID(int=0), UUID(int=2**128 - 1)
CLI_ACTOR = "cli"


@dataclass(frozen=True, slots=True)
class VideoHoldingsOf:
    database: Database

    async def between(self, after: str, until: str) -> Sequence[VideoHolding]:
        async with self.database.system("compare videos with the object store") as transaction:
            store = HoldingStore(transaction.connection)
            videos = await store.between(_border(after), _border(until))
            frames = await store.frames(videos) if videos else {}
        return [_holding(video, frames.get(video.video_id, [])) for video in videos]

    async def make_again(self, holding: VideoHolding, original_key: str) -> bool:
        """Its attempt is a new one, so it writes beside what is damaged, and replaces it when it is done."""
        payload = TranscodePayload(video_id=video_id(holding.artifact_hash), s3_original_path=original_key)
        async with self.database.transaction(holding.tenant_id, CLI_ACTOR) as transaction:
            job = await enqueue(transaction, payload)
            if job is not None:
                announce_change(transaction, job)
        return job is not None

    async def write_pointers(self, holding: VideoHolding) -> None:
        async with self.database.transaction(holding.tenant_id, CLI_ACTOR) as transaction:
            await HoldingStore(transaction.connection).forget_pointers(video_id(holding.artifact_hash))


def _border(text: str) -> UUID:
    """Hashes, and what lies before and behind all of them."""
    if not text:
        return NOTHING
    return UUID(hex=text) if len(text) == len(NOTHING.hex) else EVERYTHING


def _holding(video: HeldVideo, frames: Sequence[str]) -> VideoHolding:
    return VideoHolding(
        tenant_id=video.tenant_id,
        artifact_hash=artifact_hash(video.video_id),
        manifest_key=video.s3_proxy_path,
        poster_key=video.s3_thumb_path,
        storyboard_key=video.s3_storyboard_path,
        original_digest=video.original_digest,
        has_pointers=video.pointers_written,
        is_deleted=video.is_deleted,
        is_worked_on=video.is_worked_on,
        updated_at=video.updated_at,
        frame_keys=frames,
    )
