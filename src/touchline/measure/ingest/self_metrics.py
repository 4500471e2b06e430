"""Self metrics: uploads, jobs, goal searches and publishers of live streams as workflow events, so that the product
measures itself.

Invariants: an event alone decides, whatever came before it. Delivered again, it says the same under the same ids; a
step that a later event repeats counts where it happened first. The cursor moves only when everything before it was
stored. A batch that comes again has the same name and the same records; cut differently, it has the same records under
the same ids, and they are duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

import msgspec
from pydantic import ValidationError

from touchline.contracts.events import PAYLOADS, Event, Payload
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType
from touchline.contracts.events.streams import (
    StreamEnded,
    StreamInterrupted,
    StreamLive,
    StreamPlayable,
    StreamSessionPayload,
)
from touchline.contracts.events.videos import JobChanged, VideoTranscoded
from touchline.contracts.events.watch import GoalChanged, GoalVideoJudged, GoalVideoKept
from touchline.kernel import InvalidInput, TenantId, artifact_hash
from touchline.measure.sessions import model
from touchline.measure.sessions.parser import ERROR
from touchline.platform.postgres.database import Transaction

# Steps of our own work, and the workflow events that report them.

GATEWAY = "touchline"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Record = dict[str, Any]


class WorkflowType(StrEnum):
    TRANSCODE = "transcode"
    BATCH = "batch"
    INFERENCE = "inference"
    TRANSFORM = "transform"
    LIVE = "live"


class WorkStep(StrEnum):
    """Named for what a session needs to know. Each is one trace."""

    ACCEPTED = model.STREAM_REQUEST
    STARTED = model.FIRST_INGEST
    MADE = model.RUNNER_FIRST_PROCESSED  # a first result is there
    RECEIVED = model.FIRST_PROCESSED  # and whoever asked can have it
    READY = model.PLAYABLE
    NOTHING_TO_FIND = model.NO_ORCHESTRATORS
    ENDED = model.CLOSED


RESULT = (WorkStep.MADE, WorkStep.RECEIVED)
COMPLETE = (*RESULT, WorkStep.READY, WorkStep.ENDED)


@dataclass(frozen=True, slots=True)
class MeasuredWork:
    """One session: what is worked on, by which order, and what kind of work it is."""

    stream_id: str
    request_id: str
    pipeline: str
    workflow_type: WorkflowType


@dataclass(frozen=True, slots=True)
class ReportedEvent:
    """An event of the log: all that is said by it has ids made from its own."""

    event_id: UUID
    occurred_at: datetime
    work: MeasuredWork

    def step(self, step: WorkStep, at: datetime | None = None) -> Record:
        return self._record(model.EventType.TRACE, step, at or self.occurred_at, {"type": step.value})

    def asked(self, at: datetime | None = None) -> Record:
        """From here somebody waits: where a live stream has its prompt."""
        since = at or self.occurred_at
        return self._record(model.EventType.STATUS, "asked", since, {"type": "status", "start_time": _ms(since)})

    def error(self, code: str, message: str) -> Record:
        said = ": ".join(part for part in (code, message) if part)
        return self._record(model.EventType.EVENT, ERROR, self.occurred_at, {"type": ERROR, "message": said})

    def _record(self, kind: model.EventType, name: str, at: datetime, data: Record) -> Record:
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


# Rules: what an event of our log says about the session of the work it belongs to.

UPLOAD = "upload"
GOAL_SEARCH = "goal_search"
VALIDATION = "validation"
PUBLISH = "publish"
TRANSCODE = "transcode"
JOBS = {TRANSCODE: WorkflowType.TRANSCODE, "ocr": WorkflowType.INFERENCE}
"""The other kinds of jobs make something out of something: they transform."""
STREAM_FAILURES = frozenset({"refused", "node_lost"})
"""Why a publisher ended that wanted to go on."""
FRUITLESS = frozenset({"removed", "moved"})
"""What became of a goal that nobody can find any longer under this id."""
FAILURES = frozenset({"search_unavailable", "lost"})
"""Outcomes of a search that are ours to answer for; that there is no video anywhere is not."""
PARENT_FAILED = "ParentFailed"  # of a job that waited for one that failed; its message repeats that one's error
CANCELLED = "Cancelled"  # `sessions.settings.CANCELLED` finds it in the message
CANCELLATIONS = frozenset({CANCELLED, "upload_aborted", "upload_abandoned"})
"""Errors of what somebody ended, or left alone."""


def records_of(event: Event) -> list[Record]:
    """The workflow events that it amounts to; none when it is not a step of any work."""
    read = _READ.get(event.type)
    return read(event, _payload(event)) if read else []


def _registered(event: Event, payload: Any) -> list[Record]:
    registered: ArtifactRegistered = payload
    if registered.artifact_type is not ArtifactType.UPLOAD:
        return []
    reported = ReportedEvent(event.id, event.occurred_at, _upload(registered.artifact_hash))
    return [reported.step(WorkStep.ACCEPTED), reported.asked()]


def _lifecycle(event: Event, payload: Any) -> list[Record]:
    lifecycle: ArtifactLifecycle = payload
    if lifecycle.artifact_type is not ArtifactType.UPLOAD:
        return []
    return _upload_steps(ReportedEvent(event.id, event.occurred_at, _upload(lifecycle.artifact_hash)), lifecycle)


def _upload_steps(reported: ReportedEvent, lifecycle: ArtifactLifecycle) -> list[Record]:
    match lifecycle.status:
        case "uploading":
            return [reported.step(WorkStep.STARTED)]
        case "processing":  # the original lies verified in the object store
            return _steps(reported, RESULT)
        case "ready":
            return _steps(reported, COMPLETE)
        case "failed":
            return _failed(reported, lifecycle.error_code or "", lifecycle.error_message or "")
        case "deleted" if not (lifecycle.manifest_key or lifecycle.error_code):  # neither playable nor failed before
            return _failed(reported, CANCELLED, "it was deleted before it could be played")
        case _:
            return []


def _failed(reported: ReportedEvent, code: str, message: str) -> list[Record]:
    """What was cancelled failed for no fault, whatever went wrong in earlier attempts."""
    if code in CANCELLATIONS or (code == PARENT_FAILED and f" {CANCELLED}: " in message):
        excuse = reported.step(WorkStep.NOTHING_TO_FIND)
        return [reported.error(CANCELLED, message), excuse, reported.step(WorkStep.ENDED)]
    return [reported.error(code, message), reported.step(WorkStep.ENDED)]


def _job(event: Event, payload: Any) -> list[Record]:
    job: JobChanged = payload
    reported = ReportedEvent(
        event.id, event.occurred_at, _job_work(artifact_hash(job.video_id), str(job.job_id), job.job_type)
    )
    failure = (
        [reported.error(job.error_type or "", job.error_message or "")] if job.error_type or job.error_message else []
    )
    match job.status:
        case "queued":
            return failure or [reported.step(WorkStep.ACCEPTED), reported.asked()]
        case "processing":
            return [reported.step(WorkStep.STARTED)]
        case "done":
            return _steps(reported, COMPLETE)
        case "failed":
            return _failed(reported, job.error_type or "", job.error_message or "")
        case _:
            return []


def _transcoded(event: Event, payload: Any) -> list[Record]:
    """It can be played long before its job is done."""
    video: VideoTranscoded = payload
    work = _job_work(video.artifact_hash, str(video.job_id), TRANSCODE)
    return _steps(ReportedEvent(event.id, event.occurred_at, work), (*RESULT, WorkStep.READY))


def _goal(event: Event, payload: Any) -> list[Record]:
    goal: GoalChanged = payload
    reported = ReportedEvent(event.id, event.occurred_at, _search(goal.event_id, goal.generation))
    match goal.what:
        case "stable":
            return [reported.step(WorkStep.ACCEPTED), reported.asked()]
        case "searching":
            return [reported.step(WorkStep.STARTED)]
        case "searched":
            return [reported.step(WorkStep.MADE)]
        case "complete":
            return [*_why_complete(reported, goal.outcome), reported.step(WorkStep.ENDED)]
        case what if what in FRUITLESS:
            return _steps(reported, (WorkStep.NOTHING_TO_FIND, WorkStep.ENDED))
        case _:
            return []


def _why_complete(reported: ReportedEvent, outcome: str | None) -> list[Record]:
    if outcome == "nothing_found":
        return [reported.step(WorkStep.NOTHING_TO_FIND)]
    return [reported.error(outcome, "")] if outcome in FAILURES else []


def _kept(event: Event, payload: Any) -> list[Record]:
    kept: GoalVideoKept = payload
    reported = ReportedEvent(event.id, event.occurred_at, _search(kept.event_id, kept.generation))
    return _steps(reported, (WorkStep.RECEIVED, WorkStep.READY))


def _judged(event: Event, payload: Any) -> list[Record]:
    """The event comes at the end and says when it began. A video that is turned down is an answer, too."""
    judged: GoalVideoJudged = payload
    video = f"{judged.post_id}-{judged.video_index}"
    work = MeasuredWork(judged.event_id, f"validation-{judged.generation}-{video}", VALIDATION, WorkflowType.INFERENCE)
    reported, began = ReportedEvent(event.id, event.occurred_at, work), judged.began_at
    begun = [reported.step(WorkStep.ACCEPTED, began), reported.asked(began), reported.step(WorkStep.STARTED, began)]
    return begun + _steps(reported, COMPLETE)


def _published(event: Event, payload: Any) -> list[Record]:
    """A publisher that was admitted sends at once: from here on somebody waits for the picture."""
    published: StreamLive = payload
    reported = ReportedEvent(event.id, event.occurred_at, _publish(published))
    return [reported.step(WorkStep.ACCEPTED), reported.asked(), reported.step(WorkStep.STARTED)]


def _first_segment(event: Event, payload: Any) -> list[Record]:
    """Its first segment is closed, and with it the stream is playable."""
    playable: StreamPlayable = payload
    return _steps(ReportedEvent(event.id, event.occurred_at, _publish(playable)), (*RESULT, WorkStep.READY))


def _interrupted(event: Event, payload: Any) -> list[Record]:
    broken: StreamInterrupted = payload
    reported = ReportedEvent(event.id, event.occurred_at, _publish(broken))
    return [reported.error("interrupted", "the encoder was gone")]


def _stream_ended(event: Event, payload: Any) -> list[Record]:
    ended: StreamEnded = payload
    reported = ReportedEvent(event.id, event.occurred_at, _publish(ended))
    failure = [reported.error(ended.reason, ended.problem)] if ended.reason in STREAM_FAILURES else []
    return [*failure, reported.step(WorkStep.ENDED)]


def _publish(published: StreamSessionPayload) -> MeasuredWork:
    return MeasuredWork(str(published.stream_id), str(published.session_id), PUBLISH, WorkflowType.LIVE)


def _upload(artifact: str) -> MeasuredWork:
    return MeasuredWork(artifact, UPLOAD, UPLOAD, WorkflowType.TRANSFORM)


def _job_work(artifact: str, job_id: str, job_type: str) -> MeasuredWork:
    return MeasuredWork(artifact, job_id, job_type, JOBS.get(job_type, WorkflowType.TRANSFORM))


def _search(event_id: str, generation: int) -> MeasuredWork:
    return MeasuredWork(event_id, f"search-{generation}", GOAL_SEARCH, WorkflowType.BATCH)


def _steps(reported: ReportedEvent, steps: tuple[WorkStep, ...]) -> list[Record]:
    return [reported.step(step) for step in steps]


_READ: dict[str, Callable[[Event, Any], list[Record]]] = {
    ArtifactRegistered.event_type: _registered,
    ArtifactLifecycle.event_type: _lifecycle,
    JobChanged.event_type: _job,
    VideoTranscoded.event_type: _transcoded,
    GoalChanged.event_type: _goal,
    GoalVideoJudged.event_type: _judged,
    GoalVideoKept.event_type: _kept,
    StreamLive.event_type: _published,
    StreamPlayable.event_type: _first_segment,
    StreamInterrupted.event_type: _interrupted,
    StreamEnded.event_type: _stream_ended,
}
SELF_METRIC_TYPES = frozenset(_READ)


def _payload(event: Event) -> Payload:
    try:
        return PAYLOADS[event.type].model_validate(event.data)
    except ValidationError as error:
        wrong = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)]
        raise InvalidInput(f"{event.type} cannot be read", field=wrong[0], why=f"wrong: {', '.join(wrong)}") from None


# Consumer.

_encode = msgspec.json.Encoder().encode


class Sink(Protocol):
    """Whoever takes workflow events. It returns when they are stored."""

    async def deliver(self, tenant_id: TenantId, batch_id: str, records: Sequence[bytes], /) -> object: ...


def encode_records(events: Iterable[Event]) -> list[bytes]:
    return [_encode(record) for event in events for record in records_of(event)]


class SelfMetrics:
    name = "own_sessions"
    types: frozenset[str] | None = SELF_METRIC_TYPES

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    async def handle(self, transaction: Transaction, events: Sequence[Event]) -> None:
        """One delivery for all. Everything is read before anything is delivered."""
        if records := encode_records(events):
            batch_id = f"log-{events[0].position}-{events[-1].position}"
            await self._sink.deliver(transaction.tenant_id, batch_id, records)
