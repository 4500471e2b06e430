"""Lets go of goals' videos whose artifacts are purged: they are not kept any more, and their bytes do not come back.

Invariant: whatever is purged is answered, also what watch never knew. The objects are deleted by `serve`, which has
written their keys down; the row stays as long as its match, so that the same bytes are recognized.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import HoldingReleased, PurgeDue
from touchline.platform.postgres.database import Transaction

from . import rules
from .store import ArchiveStore


class PurgedVideos:
    name = "watch-purges"
    types = frozenset({PurgeDue.event_type})

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        store = ArchiveStore(transaction)
        for event in events:
            artifact_hash = PurgeDue.model_validate(event.data).artifact_hash
            for video in await store.videos([artifact_hash]):
                await _let_go(store, video)
            transaction.announce(HoldingReleased(artifact_hash=artifact_hash, holder="watch"))


async def _let_go(store: ArchiveStore, video: rules.ArchivedVideo) -> None:
    await store.lock(video.goal)
    if await store.drop_one(video.artifact_hash):
        kept = [copy for copy in await store.copies(video.goal) if copy.standing is rules.CopyState.KEPT]
        await store.rank(video.goal, [copy.name for copy in rules.ranked(kept)])
        await store.forget_orphan(video.artifact_hash)
