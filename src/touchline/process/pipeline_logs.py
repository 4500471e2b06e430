"""Writes `logs/pipeline/{job_id}.json` when a job has ended, for those who read a bucket and no database.

Invariants: made from the tables, so the document is complete however the worker ended, and the same job gives
the same document. All text is redacted. A job that was deleted leaves no document.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from touchline.contracts.events import Event
from touchline.contracts.events.videos import JobChanged
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.platform.objects.store import ObjectStore
from touchline.platform.postgres.database import Transaction
from touchline.process.queue.jobs import Job, JobStatus
from touchline.process.queue.queries import Transition, job_history
from touchline.process.queue.store import JobStore

VERSION = 1
MOST_TRANSITIONS = 1000  # the last ones

Redact = Callable[[str], str]


def log_key(job_id: UUID) -> ObjectKey:
    return join_key("logs", "pipeline", f"{job_id}.json")


def log_document(job: Job, history: Sequence[Transition], redact: Redact) -> bytes:
    """The job with all its attempts, as JSON."""
    fields = {
        "version": VERSION,
        "job_id": job.id,
        "video_id": job.video_id,
        "job_type": job.job_type,
        "status": job.status,
        "tenant_id": job.tenant_id,
        "trace": job.trace,
        "priority": job.priority,
        "attempt": job.attempt,
        "retry_count": job.retry_count,
        "payload": job.payload,
        "result": job.result,
        "error": asdict(job.error) if job.error else None,
        "created_at": job.created_at,
        "started_at": job.started_at,
        "finished_at": job.finished_at,
        "duration_ms": _duration_ms(job.started_at, job.finished_at),
        "history": [asdict(step) for step in history[-MOST_TRANSITIONS:]],
    }
    return (json.dumps(_redacted(fields, redact), ensure_ascii=False, indent=2) + "\n").encode()


def _duration_ms(started_at: datetime | None, finished_at: datetime | None) -> int | None:
    """Of the last attempt."""
    if started_at is None or finished_at is None:
        return None
    return max(0, round((finished_at - started_at).total_seconds() * 1000))


def _redacted(value: Any, redact: Redact) -> Any:
    """Numbers stay numbers; everything else becomes redacted text."""
    if isinstance(value, Mapping):
        return {str(name): _redacted(each, redact) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_redacted(each, redact) for each in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(value.isoformat() if isinstance(value, datetime) else str(value))


ENDED = (JobStatus.DONE, JobStatus.FAILED)


class PipelineLogConsumer:
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
        """A job that runs again is written when that run has ended."""
        job = await JobStore(transaction.connection).find(job_id)
        if job is None or job.status not in ENDED:
            return
        text = log_document(job, await job_history(transaction, job_id), self._redact)
        await self._objects.replace(log_key(job_id), text, content_type="application/json")
