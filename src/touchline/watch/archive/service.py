"""What others do with a goal's archive, inside their own transaction: drop, move or label it, pin a video.

Invariant: what is told commits with what was done; a goal's row is locked before its archive is touched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoKept, GoalVideoLabeled, GoalVideoPinned
from touchline.kernel import NotFound, Unavailable
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.watch.model import TASK_QUEUE, FoundRef, GoalRef

from . import rules
from .store import ArchiveStore
from .workflow import Uploaded, UploadInput

# Takes fresh videos into a goal's archive, in one transaction with what it tells.
# Invariant: the goal's row is locked, and what is there now decides. A video gives way only to one whose bytes were
# seen; popularity goes over; ranks are right when the transaction ends.

REPLACED = "replaced"
DROPPED_BEFORE = "dropped: the archive had these bytes before, and they do not come back"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Found videos that are to be archived, and where those of them lie that were brought to their place."""

    found: Sequence[rules.WaitingVideo]
    uploaded: Mapping[FoundRef, Uploaded]
    retention: timedelta


@dataclass(slots=True)
class Settled:
    kept: list[str] = field(default_factory=list[str])  # new ones
    replaced: list[str] = field(default_factory=list[str])
    changed: bool = False  # at all


@dataclass(frozen=True, slots=True)
class GoalArchive:
    transaction: Transaction
    goal: GoalRef
    now: datetime
    settled: Settled = field(default_factory=Settled)

    @property
    def store(self) -> ArchiveStore:
        return ArchiveStore(self.transaction)

    async def take_in(self, arrival: Arrival) -> Settled:
        """What cannot be taken in stays fresh: its best copy does not lie in its place."""
        by_name = {name_of(found.ref): found for found in arrival.found}
        for cluster in await compared(self.store, self.goal, arrival.found):
            best = await self._best(cluster, arrival, by_name)
            if best:
                await self._keep(cluster, best, [by_name[copy.name].ref for copy in cluster.fresh])
        await self.rank()
        return self.settled

    async def join(self) -> Settled:
        """Those that are kept, among each other."""
        for cluster in await compared(self.store, self.goal, ()):
            if cluster.best:
                await self._keep(cluster, cluster.best.name, ())
        await self.rank()
        return self.settled

    async def label(self, hashes: Sequence[str]) -> None:
        """Tells what these videos show now."""
        facts = await self.store.facts(self.goal)
        for video in await self.store.videos(hashes):
            self.transaction.announce(labeled(video, facts), revision=video.revision)

    async def rank(self) -> None:
        kept = [copy for copy in await self.store.copies(self.goal) if copy.standing is rules.CopyState.KEPT]
        await self.store.rank(self.goal, [copy.name for copy in rules.ranked(kept)])

    async def _best(
        self, cluster: rules.Cluster, arrival: Arrival, by_name: Mapping[str, rules.WaitingVideo]
    ) -> str | None:
        """The artifact that the best copy is, once it is in the archive."""
        best = cluster.best
        if best is None:
            return await self._refuse(cluster, by_name)
        if best.standing is rules.CopyState.KEPT:
            return best.name
        found = by_name[best.name]
        uploaded = arrival.uploaded.get(found.ref)
        if uploaded is None:
            return None
        if await self._add(cluster, found, uploaded, arrival.retention):
            return uploaded.artifact_hash
        return await self._refuse(cluster, by_name)

    async def _refuse(self, cluster: rules.Cluster, by_name: Mapping[str, rules.WaitingVideo]) -> None:
        refs = [by_name[copy.name].ref for copy in cluster.fresh]
        await self.store.give_up(self.goal, refs, "rejected", DROPPED_BEFORE)

    async def _add(
        self, cluster: rules.Cluster, found: rules.WaitingVideo, uploaded: Uploaded, retention: timedelta
    ) -> bool:
        """False when it was there before, and is not kept: it does not come back."""
        added = await self.store.add(
            self.goal,
            found,
            hash=uploaded.artifact_hash,
            object_key=uploaded.object_key,
            popularity=cluster.popularity,
            verified=cluster.verified,
            now=self.now,
        )
        if not added:
            return False
        facts = await self.store.facts(self.goal)
        kept = GoalVideoKept(
            artifact_hash=uploaded.artifact_hash,
            event_id=self.goal.event_id,
            generation=self.goal.generation,
            fixture_id=self.goal.fixture_id,
            object_key=uploaded.object_key,
            size_bytes=found.size_bytes,
            content_type=rules.CONTENT_TYPE,
            file_name=rules.file_name(self.goal, found.md5),
            title=rules.title(facts),
            retention_until=rules.kept_until(facts.kick_off, retention),
        )
        self.transaction.announce(kept)
        await self.label([uploaded.artifact_hash])
        self.settled.kept.append(uploaded.artifact_hash)
        return True

    async def _keep(self, cluster: rules.Cluster, best: str, refs: Sequence[FoundRef]) -> None:
        self.settled.changed = True
        await self.store.count(best, cluster.popularity, verified=cluster.verified)
        await self.store.take(self.goal, refs, best)
        if not cluster.replaced:
            return
        pinned = await self.store.replace(self.goal, cluster.replaced, best)
        self.settled.replaced.extend(cluster.replaced)
        for video in await self.store.videos(cluster.replaced):
            self.transaction.announce(dropped(video, REPLACED, best), revision=video.revision)
        if pinned:
            for video in await self.store.videos([best]):
                self.transaction.announce(pinning(video), revision=video.revision)


async def compared(store: ArchiveStore, goal: GoalRef, fresh: Sequence[rules.WaitingVideo]) -> list[rules.Cluster]:
    """What there is to do. Comparing is work for the processor, so it is not done in the loop."""
    copies = [*await store.copies(goal), *(as_copy(found) for found in fresh)]
    return await asyncio.to_thread(rules.clusters, copies, rules.alike)


def as_copy(found: rules.WaitingVideo) -> rules.Copy:
    return rules.Copy(
        name=name_of(found.ref),
        standing=rules.CopyState.FRESH,
        md5=found.md5,
        verified=bool(found.verified),
        size_bytes=found.size_bytes,
        duration_ms=found.duration_ms,
        fingerprint=found.fingerprint,
        popularity=1,
    )


def name_of(ref: FoundRef) -> str:
    return f"{ref.post_id}/{ref.video_index}"


def labeled(video: rules.ArchivedVideo, facts: rules.GoalFactsForTitle) -> GoalVideoLabeled:
    goal = video.goal
    return GoalVideoLabeled(
        artifact_hash=video.artifact_hash,
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        title=rules.title(facts),
        home_team=facts.home_name,
        away_team=facts.away_name,
        player=facts.player_name,
    )


def dropped(video: rules.ArchivedVideo, why: str, by: str | None = None) -> GoalVideoDropped:
    goal = video.goal
    return GoalVideoDropped(
        artifact_hash=video.artifact_hash,
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        why=why,
        replaced_by=by,
    )


def pinning(video: rules.ArchivedVideo) -> GoalVideoPinned:
    goal = video.goal
    return GoalVideoPinned(
        artifact_hash=video.artifact_hash,
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        pinned=video.pinned,
    )


__all__ = ["drop_all", "label_all", "move_all", "pin"]
ANNULLED = "annulled"


async def drop_all(transaction: Transaction, goal: GoalRef, now: datetime) -> None:
    """The goal was annulled: nothing of it is kept, whoever wanted it, and what waits is not archived any more."""
    store = ArchiveStore(transaction)
    await store.lock(goal)
    for video in await store.videos(await store.drop(goal)):
        transaction.announce(dropped(video, ANNULLED), revision=video.revision)
    await store.delete_batches(goal)


async def move_all(transaction: Transaction, old: GoalRef, new: GoalRef, now: datetime) -> None:
    """The feed names another scorer: videos, what was found and what waits belong to the new goal. What is the same of
    both becomes one."""
    store = ArchiveStore(transaction)
    for goal in sorted((old, new), key=lambda goal: (goal.event_id, goal.generation)):
        await store.lock(goal)
    await store.move(old, new)
    await GoalArchive(transaction, new, now).join()
    await label_all(transaction, new, now)


async def label_all(transaction: Transaction, goal: GoalRef, now: datetime) -> None:
    """The feed says something else of the goal: who scored it, when, or at which score."""
    await GoalArchive(transaction, goal, now).label(await ArchiveStore(transaction).changed(goal))


async def pin(transaction: Transaction, artifact_hash: str, *, pinned: bool) -> bool:
    """Whether a kept video outlives its match; false when nothing changed."""
    store = ArchiveStore(transaction)
    if not await store.pin(artifact_hash, pinned=pinned):
        return False
    for video in await store.videos([artifact_hash]):
        transaction.announce(pinning(video), revision=video.revision)
    await store.forget_orphan(artifact_hash)
    return True


# Tells a goal's UploadWorkflow of a batch, and starts it where it does not run.
# Invariant: telling twice does no harm; a question that was not answered is not a "no".

WORKFLOW, SIGNAL = "UploadWorkflow", "add_videos"


def upload_id(goal: GoalRef) -> str:
    return f"upload-{goal.name}"


async def notify_archive(client: Client, goal: GoalRef, batch_id: str, task_queue: str = TASK_QUEUE) -> None:
    """The batch is written down already: the signal only wakes whoever archives it."""
    await client.start_workflow(
        WORKFLOW,
        UploadInput(goal),
        id=upload_id(goal),
        task_queue=task_queue,
        start_signal=SIGNAL,
        start_signal_args=[batch_id],
    )


async def resume(client: Client, goal: GoalRef, batch_id: str) -> bool:
    """Whether it did not run."""
    if await _is_running(client, goal):
        return False
    await notify_archive(client, goal, batch_id)
    return True


async def _is_running(client: Client, goal: GoalRef) -> bool:
    try:
        found = await client.get_workflow_handle(upload_id(goal)).describe()
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return False
        raise
    return found.status is WorkflowExecutionStatus.RUNNING


# Objects on their way from where downloads land to the place that their content names.


async def bring(objects: ObjectStore, source: str, target: str, size_bytes: int) -> bool:
    """Copies inside the store, once. False when the source is gone, or is not what was downloaded."""
    if await _size(objects, target) == size_bytes:
        return True
    try:
        info = await objects.head(source)
        if info.size_bytes != size_bytes:
            return False
        await objects.copy(source, target, etag=info.etag, content_type=rules.CONTENT_TYPE)
    except NotFound:
        return False
    if await _size(objects, target) != size_bytes:
        raise Unavailable("the copy is incomplete", why=target)
    return True


async def _size(objects: ObjectStore, key: str) -> int | None:
    try:
        return (await objects.head(key)).size_bytes
    except NotFound:
        return None
