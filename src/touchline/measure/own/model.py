"""A step of our own work, and the workflow events that say it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from touchline.measure.sessions import edges
from touchline.measure.sessions.model import EventType
from touchline.measure.sessions.parser import ERROR

GATEWAY = "touchline"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Record = dict[str, Any]


class WorkflowType(StrEnum):
    TRANSCODE = "transcode"
    BATCH = "batch"
    INFERENCE = "inference"
    TRANSFORM = "transform"


class Step(StrEnum):
    """Named for what a session needs to know. Each is one trace."""

    ACCEPTED = edges.STREAM_REQUEST
    STARTED = edges.FIRST_INGEST
    MADE = edges.RUNNER_FIRST_PROCESSED  # a first result is there
    RECEIVED = edges.FIRST_PROCESSED  # and whoever asked can have it
    READY = edges.PLAYABLE
    NOTHING_TO_FIND = edges.NO_ORCHESTRATORS
    ENDED = edges.CLOSED


RESULT = (Step.MADE, Step.RECEIVED)
COMPLETE = (*RESULT, Step.READY, Step.ENDED)


@dataclass(frozen=True, slots=True)
class Work:
    """One session: what is worked on, by which order, and what kind of work it is."""

    stream_id: str
    request_id: str
    pipeline: str
    workflow_type: WorkflowType


@dataclass(frozen=True, slots=True)
class Told:
    """An event of the log: all that is said by it has ids made from its own."""

    event_id: UUID
    occurred_at: datetime
    work: Work

    def step(self, step: Step, at: datetime | None = None) -> Record:
        return self._record(EventType.TRACE, step, at or self.occurred_at, {"type": step.value})

    def asked(self, at: datetime | None = None) -> Record:
        """From here somebody waits: where a live stream has its prompt."""
        since = at or self.occurred_at
        return self._record(EventType.STATUS, "asked", since, {"type": "status", "start_time": _ms(since)})

    def error(self, code: str, message: str) -> Record:
        said = ": ".join(part for part in (code, message) if part)
        return self._record(EventType.EVENT, ERROR, self.occurred_at, {"type": ERROR, "message": said})

    def _record(self, kind: EventType, name: str, at: datetime, data: Record) -> Record:
        shared = {
            "stream_id": self.work.stream_id,
            "request_id": self.work.request_id,
            "pipeline": self.work.pipeline,
            "workflow_type": self.work.workflow_type.value,
            "timestamp": _ms(at),
        }
        return {
            "id": f"{self.event_id}/{name}",
            "type": kind.value,
            "timestamp": str(_ms(at)),
            "gateway": GATEWAY,
            "data": shared | data,
        }


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)
