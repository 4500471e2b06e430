"""What is written down of a job that ended, and where. Pure.

Invariant: the same job gives the same document, whoever writes it; no text passes without `redact`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from touchline.platform.objects.keys import ObjectKey, join_key
from touchline.process.queue.model import Job
from touchline.process.queue.queries import Transition

VERSION = 1
MOST_TRANSITIONS = 1000  # the last ones

Redact = Callable[[str], str]


def log_key(job_id: UUID) -> ObjectKey:
    return join_key("logs", "pipeline", f"{job_id}.json")


def document(job: Job, history: Sequence[Transition], redact: Redact) -> bytes:
    """All attempts of it, as JSON."""
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
    return (json.dumps(_plain(fields, redact), ensure_ascii=False, indent=2) + "\n").encode()


def _duration_ms(started_at: datetime | None, finished_at: datetime | None) -> int | None:
    """Of the last attempt."""
    if started_at is None or finished_at is None:
        return None
    return max(0, round((finished_at - started_at).total_seconds() * 1000))


def _plain(value: Any, redact: Redact) -> Any:
    """Numbers stay numbers; all else becomes its text, with nothing in it that is secret."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each, redact) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(each, redact) for each in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, bool | int | float):
        return value
    return redact(value.isoformat() if isinstance(value, datetime) else str(value))
