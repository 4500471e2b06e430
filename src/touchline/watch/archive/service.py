"""What others do with a goal's archive, inside their own transaction: drop, move or label it, pin a video.

Invariant: what is told commits with what was done; a goal's row is locked before its archive is touched.
"""

from __future__ import annotations

from datetime import datetime

from touchline.platform.postgres.database import Transaction
from touchline.watch.model import GoalRef

from .settling import Settling, dropped, pinning
from .store import ArchiveStore

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
    await Settling(transaction, new, now).join()
    await label_all(transaction, new, now)


async def label_all(transaction: Transaction, goal: GoalRef, now: datetime) -> None:
    """The feed says something else of the goal: who scored it, when, or at which score."""
    await Settling(transaction, goal, now).label(await ArchiveStore(transaction).changed(goal))


async def pin(transaction: Transaction, artifact_hash: str, *, pinned: bool) -> bool:
    """Whether a kept video outlives its match; false when nothing changed."""
    store = ArchiveStore(transaction)
    if not await store.pin(artifact_hash, pinned=pinned):
        return False
    for video in await store.videos([artifact_hash]):
        transaction.announce(pinning(video), revision=video.revision)
    await store.forget_orphan(artifact_hash)
    return True
