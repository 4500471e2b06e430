"""What becomes of a goal's videos when the goal goes, inside the transaction that takes it away."""

from __future__ import annotations

from datetime import datetime

from touchline.contracts.events.watch import GoalVideoDropped
from touchline.platform.postgres.database import Transaction
from touchline.watch.model import GoalRef

from .store import ArchiveStore


async def drop_all(transaction: Transaction, goal: GoalRef, now: datetime) -> None:
    """The goal was annulled: nothing of it is kept, and what waits is not archived any more."""
    for artifact_hash, revision in await ArchiveStore(transaction.connection).drop(goal):
        event = GoalVideoDropped(
            artifact_hash=artifact_hash,
            event_id=goal.event_id,
            generation=goal.generation,
            fixture_id=goal.fixture_id,
            why="annulled",
        )
        transaction.announce(event, revision=revision)


async def move_all(transaction: Transaction, old: GoalRef, new: GoalRef, now: datetime) -> None:
    """The feed names another scorer: videos, what was found and what waits belong to the new goal."""
    await ArchiveStore(transaction.connection).move(old, new)
