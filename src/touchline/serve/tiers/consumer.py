"""Deletions, as the log tells of them: copies on nodes go at once, and not with the next pass in minutes.

Invariant: nothing is given up here. The pass looks at the object store first, and its limit holds however many come.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events import Event
from touchline.contracts.events.artifacts import ArtifactLifecycle
from touchline.platform.periodic.store import PeriodicStore
from touchline.platform.postgres.database import Transaction

from .passes import ORPHANS_TASK


class DeletedArtifacts:
    name = "serve-deleted-copies"
    types = frozenset({ArtifactLifecycle.event_type})

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        if any(_leaves_copies(event) for event in events):
            await transaction.enter_system()  # periodic tasks belong to no tenant
            await PeriodicStore(transaction.connection).hurry(ORPHANS_TASK)


def _leaves_copies(event: Event) -> bool:
    return event.data["status"] == ArtifactStatus.DELETED and bool(event.data["local_copies"])
