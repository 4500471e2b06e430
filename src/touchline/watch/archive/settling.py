"""Takes fresh videos into a goal's archive, in one transaction with what it tells.

Invariant: the goal's row is locked, and what is there now decides. A video gives way only to one whose bytes were seen;
popularity goes over; ranks are right when the transaction ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from touchline.contracts.events.watch import GoalVideoDropped, GoalVideoKept, GoalVideoLabeled, GoalVideoPinned
from touchline.platform.postgres.database import Transaction
from touchline.watch.model import FoundRef, GoalRef

from . import rules
from .fingerprints import alike
from .messages import Uploaded
from .model import Cluster, Copy, Facts, FoundVideo, Standing, Video
from .store import ArchiveStore

REPLACED = "replaced"
DROPPED_BEFORE = "dropped: the archive had these bytes before, and they do not come back"


@dataclass(frozen=True, slots=True)
class Arrival:
    """Found videos that are to be archived, and where those of them lie that were brought to their place."""

    found: Sequence[FoundVideo]
    uploaded: Mapping[FoundRef, Uploaded]
    retention: timedelta


@dataclass(slots=True)
class Settled:
    kept: list[str] = field(default_factory=list[str])  # new ones
    replaced: list[str] = field(default_factory=list[str])
    changed: bool = False  # at all


@dataclass(frozen=True, slots=True)
class Settling:
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
        kept = [copy for copy in await self.store.copies(self.goal) if copy.standing is Standing.KEPT]
        await self.store.rank(self.goal, [copy.name for copy in rules.ranked(kept)])

    async def _best(self, cluster: Cluster, arrival: Arrival, by_name: Mapping[str, FoundVideo]) -> str | None:
        """The artifact that the best copy is, once it is in the archive."""
        best = cluster.best
        if best is None:
            return await self._refuse(cluster, by_name)
        if best.standing is Standing.KEPT:
            return best.name
        found = by_name[best.name]
        uploaded = arrival.uploaded.get(found.ref)
        if uploaded is None:
            return None
        if await self._add(cluster, found, uploaded, arrival.retention):
            return uploaded.artifact_hash
        return await self._refuse(cluster, by_name)

    async def _refuse(self, cluster: Cluster, by_name: Mapping[str, FoundVideo]) -> None:
        refs = [by_name[copy.name].ref for copy in cluster.fresh]
        await self.store.give_up(self.goal, refs, "rejected", DROPPED_BEFORE)

    async def _add(self, cluster: Cluster, found: FoundVideo, uploaded: Uploaded, retention: timedelta) -> bool:
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

    async def _keep(self, cluster: Cluster, best: str, refs: Sequence[FoundRef]) -> None:
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


async def compared(store: ArchiveStore, goal: GoalRef, fresh: Sequence[FoundVideo]) -> list[Cluster]:
    """What there is to do. Comparing is work for the processor, so it is not done in the loop."""
    copies = [*await store.copies(goal), *(as_copy(found) for found in fresh)]
    return await asyncio.to_thread(rules.clusters, copies, alike)


def as_copy(found: FoundVideo) -> Copy:
    return Copy(
        name=name_of(found.ref),
        standing=Standing.FRESH,
        md5=found.md5,
        verified=bool(found.verified),
        size_bytes=found.size_bytes,
        duration_ms=found.duration_ms,
        fingerprint=found.fingerprint,
        popularity=1,
    )


def name_of(ref: FoundRef) -> str:
    return f"{ref.post_id}/{ref.video_index}"


def labeled(video: Video, facts: Facts) -> GoalVideoLabeled:
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


def dropped(video: Video, why: str, by: str | None = None) -> GoalVideoDropped:
    goal = video.goal
    return GoalVideoDropped(
        artifact_hash=video.artifact_hash,
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        why=why,
        replaced_by=by,
    )


def pinning(video: Video) -> GoalVideoPinned:
    goal = video.goal
    return GoalVideoPinned(
        artifact_hash=video.artifact_hash,
        event_id=goal.event_id,
        generation=goal.generation,
        fixture_id=goal.fixture_id,
        pinned=video.pinned,
    )
