"""The activities of the UploadWorkflow. Each may run twice, and on any machine.

Invariant: each first asks who the goal is now; of one that is over nothing is archived. Nothing is taken for new since
it could not be compared, and nothing for lost since the object store did not answer.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from temporalio import activity
from temporalio.client import Client

from touchline.contracts.events.watch import GoalChanged
from touchline.media.errors import InvalidFingerprint
from touchline.watch.context import WatchContext
from touchline.watch.model import FoundRef, GoalRef
from touchline.watch.settings import WatchSettings
from touchline.watch.temporal import as_temporal_errors

from . import rules, workflow
from .service import Arrival, GoalArchive, bring, compared, name_of, resume
from .store import ArchiveStore

logger = logging.getLogger(__name__)

LOST = "incoming_lost: the downloaded file is gone"
TIMEOUT = timedelta(minutes=1)  # before somebody else looks after a batch
CHUNK, MOST_CHUNKS = 20, 10


@dataclass(frozen=True)
class ArchiveActivities:
    context: WatchContext
    settings: WatchSettings
    client: Client

    @activity.defn(name="fetch_event_data")
    async def fetch_event_data(self, goal: GoalRef) -> workflow.EventData:
        """The goal's oldest batch that is not archived. What of it can never be compared is given up here."""
        async with self._archive(goal) as archive:
            if archive is None:
                return workflow.EventData(over=True)
            store, living = archive.store, archive.goal
            batch_id = await store.next_batch(living)
            if batch_id is None:
                return workflow.EventData()
            videos = [found.ref for found in await store.waiting(living, batch_id) if await _is_usable(archive, found)]
        logger.info("[UPLOAD] Next batch", extra={"goal": living.name, "batch": batch_id, "videos": len(videos)})
        return workflow.EventData(batch_id=batch_id, videos=videos)

    @activity.defn(name="deduplicate_by_md5")
    async def deduplicate_by_md5(self, batch: workflow.UploadBatch) -> workflow.ByContent:
        async with self._archive(batch.goal, lock=False) as archive:
            if archive is None:
                return workflow.ByContent()
            known = {copy.md5 for copy in await archive.store.copies(archive.goal)}
            found = await _found(archive, batch)
        same = [each.ref for each in found if each.md5 in known]
        logger.info("[DEDUP] Compared bytes", extra={"batch": batch.batch_id, "known": len(same), "of": len(found)})
        return workflow.ByContent(same, [each.ref for each in found if each.md5 not in known])

    @activity.defn(name="deduplicate_videos")
    async def deduplicate_videos(self, batch: workflow.UploadBatch) -> workflow.UploadPlan:
        async with self._archive(batch.goal, lock=False) as archive:
            if archive is None:
                return workflow.UploadPlan()
            found = await _found(archive, batch)
            clusters = await compared(archive.store, archive.goal, found)
        refs = {name_of(each.ref): each.ref for each in found}
        groups = [_group(cluster, refs) for cluster in clusters if cluster.fresh]
        logger.info(
            "[DEDUP] Clustered videos", extra={"batch": batch.batch_id, "of": len(found), "clusters": len(groups)}
        )
        return workflow.UploadPlan(groups)

    @activity.defn(name="upload_single_video")
    async def upload_single_video(self, order: workflow.UploadOrder) -> workflow.Uploaded:
        """To its place, which its content names, inside the store. Without a key: it is lost, or not needed now."""
        batch = workflow.UploadBatch(order.goal, order.batch_id, [order.video])
        async with self._archive(order.goal, lock=False) as archive:
            found = await _found(archive, batch) if archive else []
        if archive is None or not found:
            return workflow.Uploaded(order.video, "", "")
        key, [video] = rules.object_key(archive.goal, found[0].md5), found
        with as_temporal_errors():
            if not await bring(self.context.objects, video.incoming_key, key, video.size_bytes):
                await self._give_up(archive.goal, order.video)
                return workflow.Uploaded(order.video, "", "")
        logger.info("[UPLOAD] In its place", extra={"batch": order.batch_id, "key": key})
        return workflow.Uploaded(
            order.video, key, rules.archived_as(self.context.owner.tenant_id, archive.goal, video.md5)
        )

    @activity.defn(name="bump_video_popularity")
    async def bump_video_popularity(self, writing: workflow.Writing) -> workflow.WriteResult:
        return await self._write(writing)

    @activity.defn(name="save_video_objects")
    async def save_video_objects(self, writing: workflow.Writing) -> workflow.WriteResult:
        return await self._write(writing)

    @activity.defn(name="replace_s3_video")
    async def replace_s3_video(self, writing: workflow.Writing) -> workflow.WriteResult:
        return await self._write(writing)

    @activity.defn(name="recalculate_video_ranks")
    async def recalculate_video_ranks(self, batch: workflow.UploadBatch) -> workflow.BatchEnd:
        """The end of a batch, unless something of it is still to be archived; perhaps the end of the goal."""
        async with self._archive(batch.goal) as archive:
            if archive is None:
                return workflow.BatchEnd(ended=True)
            await archive.rank()
            if await archive.store.waiting(archive.goal, batch.batch_id):
                return workflow.BatchEnd(ended=False)
            await archive.store.end_batch(archive.goal, batch.batch_id, archive.now)
            completed = await archive.store.complete(archive.goal, self.settings.search_attempts, archive.now)
            if completed:
                revision, outcome = completed
                archive.transaction.announce(_changed(archive.goal, "complete", outcome), revision=revision)
        return workflow.BatchEnd(ended=True, complete=completed is not None)

    @activity.defn(name="cleanup_individual_files")
    async def cleanup_individual_files(self, leftovers: workflow.Leftovers) -> int:
        """How many objects nobody needs any more. The lock is held: nobody takes in what is being deleted."""
        async with self._archive(leftovers.goal) as archive:
            if archive is None:
                return await self._clean_up_what_is_over(leftovers)
            return await self._delete(archive.store, archive.goal, leftovers)

    @activity.defn(name="resume_uploads")
    async def resume_uploads(self) -> int:
        """Batches that wait, and whose workflow does not run: somebody died between writing one down and telling it."""
        resumed = 0
        before, after = self.context.clock.now() - TIMEOUT, None
        for _ in range(MOST_CHUNKS):
            with as_temporal_errors():
                async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                    chunk = await ArchiveStore(transaction).open_batches(before, after, CHUNK)
            for batch in chunk:
                resumed += await resume(self.client, batch.goal, batch.batch_id)
            if len(chunk) < CHUNK:
                break
            after = chunk[-1].goal
        return resumed

    async def _write(self, writing: workflow.Writing) -> workflow.WriteResult:
        async with self._archive(writing.batch.goal) as archive:
            if archive is None:
                return workflow.WriteResult()
            uploaded = {each.video: each for each in writing.uploaded if await self._is_readable(each)}
            found = await _found(archive, writing.batch)
            settled = await archive.take_in(Arrival(found, uploaded, self.settings.retention))
            if settled.changed:
                revision = await archive.store.archived(archive.goal, archive.now)
                archive.transaction.announce(_changed(archive.goal, "archived"), revision=revision)
        logger.info(
            "[UPLOAD] Archived",
            extra={"batch": writing.batch.batch_id, "kept": len(settled.kept), "replaced": len(settled.replaced)},
        )
        return workflow.WriteResult(settled.kept, settled.replaced)

    async def _is_readable(self, uploaded: workflow.Uploaded) -> bool:
        """Looked at once more while nobody else can change the archive: the old copy gives way to this one."""
        return await self.context.objects.exists(uploaded.object_key)

    async def _give_up(self, goal: GoalRef, video: FoundRef) -> None:
        logger.warning("[UPLOAD] The downloaded file is gone", extra={"goal": goal.name, "post": video.post_id})
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            await ArchiveStore(transaction).give_up(goal, [video], "failed", LOST)

    async def _clean_up_what_is_over(self, leftovers: workflow.Leftovers) -> int:
        async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
            return await self._delete(ArchiveStore(transaction), leftovers.goal, leftovers, over=True)

    async def _delete(
        self, store: ArchiveStore, goal: GoalRef, leftovers: workflow.Leftovers, *, over: bool = False
    ) -> int:
        incoming = await store.incoming(goal, over=over)
        known = await store.known_keys(leftovers.object_keys)
        keys = [*incoming, *(key for key in leftovers.object_keys if key not in known)]
        for key in keys:
            await self.context.objects.delete(key)
        await store.forget_incoming(goal, incoming)
        return len(keys)

    @asynccontextmanager
    async def _archive(self, goal: GoalRef, *, lock: bool = True) -> AsyncGenerator[GoalArchive | None]:
        """The archive of the goal that this one is now; none when it is over. Unlocked it is only looked at."""
        with as_temporal_errors():
            async with self.context.database.transaction(self.context.owner.tenant_id) as transaction:
                store = ArchiveStore(transaction)
                living = await store.locked(goal) if lock else await store.living(goal)
                yield GoalArchive(transaction, living, self.context.clock.now()) if living else None


async def _found(archive: GoalArchive, batch: workflow.UploadBatch) -> list[rules.WaitingVideo]:
    """Those of a batch that are still to be archived, of the ones that are meant."""
    wanted = set(batch.videos)
    waiting = await archive.store.waiting(archive.goal, batch.batch_id)
    return [found for found in waiting if found.ref in wanted]


async def _is_usable(archive: GoalArchive, found: rules.WaitingVideo) -> bool:
    """What is not whole is given up: it is downloaded again, and holds up nobody meanwhile."""
    why = rules.what_is_missing(found)
    if why is None:
        try:
            rules.checked(found.fingerprint)
        except InvalidFingerprint as error:
            why = str(error)
    if why is not None:
        logger.warning("[DEDUP] Cannot be compared", extra={"goal": archive.goal.name, "reason": why})
        await archive.store.give_up(archive.goal, [found.ref], "failed", f"not_comparable: {why}")
    return why is None


def _group(cluster: rules.Cluster, refs: Mapping[str, FoundRef]) -> workflow.DuplicateGroup:
    best = cluster.best
    new = refs[best.name] if best and best.standing is rules.CopyState.FRESH else None
    return workflow.DuplicateGroup([refs[copy.name] for copy in cluster.fresh], new, bool(cluster.replaced))


def _changed(goal: GoalRef, what: str, outcome: str | None = None) -> GoalChanged:
    return GoalChanged(
        event_id=goal.event_id, generation=goal.generation, fixture_id=goal.fixture_id, what=what, outcome=outcome
    )
