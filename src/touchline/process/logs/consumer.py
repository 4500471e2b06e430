"""Writes `logs/pipeline/{job_id}.json` when a job has ended.

Invariant: made from the tables and not from what a worker remembers, so a document is whole however the worker ended; a
job that is gone leaves none.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from touchline.contracts.events import Event
from touchline.contracts.events.videos import JobChanged
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.process.queue.model import JobStatus
from touchline.process.queue.queries import history
from touchline.process.queue.store import JobStore

from .rules import Redact, document, log_key

ENDED = (JobStatus.DONE, JobStatus.FAILED)


class PipelineLogs:
    name = "process-logs"
    types = frozenset({JobChanged.event_type})

    def __init__(self, objects: ObjectStore, redact: Redact) -> None:
        self._objects = objects
        self._redact = redact

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        ended = {UUID(event.data["job_id"]) for event in events if event.data["status"] in ENDED}
        for job_id in sorted(ended):
            await self._write(transaction, job_id)

    async def _write(self, transaction: Transaction, job_id: UUID) -> None:
        """A job that runs again is written when that ends."""
        job = await JobStore(transaction.connection).find(job_id)
        if job is None or job.status not in ENDED:
            return
        text = document(job, await history(transaction, job_id), self._redact)
        await self._objects.replace(log_key(job_id), text, content_type="application/json")
