"""What an event of our log says about the session of the work that it belongs to. Pure.

Invariant: an event alone decides, whatever came before it. Redelivered, it says the same under the same ids; a step
that a later event repeats counts where it happened first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from touchline.contracts.events import PAYLOADS, Event, Payload
from touchline.contracts.events.artifacts import ArtifactLifecycle, ArtifactRegistered, ArtifactType
from touchline.contracts.events.videos import JobChanged, VideoTranscoded
from touchline.contracts.events.watch import GoalChanged, GoalVideoJudged, GoalVideoKept
from touchline.kernel.errors import InvalidInput
from touchline.kernel.ids import artifact_hash

from .model import COMPLETE, RESULT, Record, Step, Told, Work, WorkflowType

UPLOAD = "upload"
GOAL_SEARCH = "goal_search"
VALIDATION = "validation"
TRANSCODE = "transcode"

JOBS = {TRANSCODE: WorkflowType.TRANSCODE, "ocr": WorkflowType.INFERENCE}
"""The other kinds of jobs make something out of something: they transform."""

FRUITLESS = frozenset({"removed", "moved"})
"""What became of a goal that nobody can find any longer under this id."""

FAILURES = frozenset({"search_unavailable", "lost"})
"""Outcomes of a search that are ours to answer for; that there is no video anywhere is not."""


def records_of(event: Event) -> list[Record]:
    """The workflow events that it amounts to; none when it is not a step of any work."""
    read = _READ.get(event.type)
    return read(event, _payload(event)) if read else []


def _registered(event: Event, payload: Any) -> list[Record]:
    registered: ArtifactRegistered = payload
    if registered.artifact_type is not ArtifactType.UPLOAD:
        return []
    told = Told(event.id, event.occurred_at, _upload(registered.artifact_hash))
    return [told.step(Step.ACCEPTED), told.asked()]


def _lifecycle(event: Event, payload: Any) -> list[Record]:
    lifecycle: ArtifactLifecycle = payload
    if lifecycle.artifact_type is not ArtifactType.UPLOAD:
        return []
    told = Told(event.id, event.occurred_at, _upload(lifecycle.artifact_hash))
    match lifecycle.status:
        case "uploading":
            return [told.step(Step.STARTED)]
        case "processing":  # the original lies verified in the object store
            return _steps(told, RESULT)
        case "ready":
            return _steps(told, COMPLETE)
        case "failed":
            failure = told.error(lifecycle.error_code or "", lifecycle.error_message or "")
            return [failure, told.step(Step.ENDED)]
        case _:
            return []


def _job(event: Event, payload: Any) -> list[Record]:
    job: JobChanged = payload
    told = Told(event.id, event.occurred_at, _job_work(artifact_hash(job.video_id), str(job.job_id), job.job_type))
    failure = [told.error(job.error_type or "", job.error_message or "")] if job.error_type or job.error_message else []
    match job.status:
        case "queued":
            return failure or [told.step(Step.ACCEPTED), told.asked()]
        case "processing":
            return [told.step(Step.STARTED)]
        case "done":
            return _steps(told, COMPLETE)
        case "failed":
            return [*(failure or [told.error("", "")]), told.step(Step.ENDED)]
        case _:
            return []


def _transcoded(event: Event, payload: Any) -> list[Record]:
    """It can be played long before its job is done."""
    video: VideoTranscoded = payload
    work = _job_work(video.artifact_hash, str(video.job_id), TRANSCODE)
    return _steps(Told(event.id, event.occurred_at, work), (*RESULT, Step.READY))


def _goal(event: Event, payload: Any) -> list[Record]:
    goal: GoalChanged = payload
    told = Told(event.id, event.occurred_at, _search(goal.event_id, goal.generation))
    match goal.what:
        case "stable":
            return [told.step(Step.ACCEPTED), told.asked()]
        case "searching":
            return [told.step(Step.STARTED)]
        case "searched":
            return [told.step(Step.MADE)]
        case "complete":
            return [*_why_complete(told, goal.outcome), told.step(Step.ENDED)]
        case what if what in FRUITLESS:
            return _steps(told, (Step.NOTHING_TO_FIND, Step.ENDED))
        case _:
            return []


def _why_complete(told: Told, outcome: str | None) -> list[Record]:
    if outcome == "nothing_found":
        return [told.step(Step.NOTHING_TO_FIND)]
    return [told.error(outcome, "")] if outcome in FAILURES else []


def _kept(event: Event, payload: Any) -> list[Record]:
    kept: GoalVideoKept = payload
    told = Told(event.id, event.occurred_at, _search(kept.event_id, kept.generation))
    return _steps(told, (Step.RECEIVED, Step.READY))


def _judged(event: Event, payload: Any) -> list[Record]:
    """The event comes at the end and says when it began. A video that is turned down is an answer, too."""
    judged: GoalVideoJudged = payload
    video = f"{judged.post_id}-{judged.video_index}"
    work = Work(judged.event_id, f"validation-{judged.generation}-{video}", VALIDATION, WorkflowType.INFERENCE)
    told, began = Told(event.id, event.occurred_at, work), judged.began_at
    begun = [told.step(Step.ACCEPTED, began), told.asked(began), told.step(Step.STARTED, began)]
    return begun + _steps(told, COMPLETE)


def _upload(artifact: str) -> Work:
    return Work(artifact, UPLOAD, UPLOAD, WorkflowType.TRANSFORM)


def _job_work(artifact: str, job_id: str, job_type: str) -> Work:
    return Work(artifact, job_id, job_type, JOBS.get(job_type, WorkflowType.TRANSFORM))


def _search(event_id: str, generation: int) -> Work:
    return Work(event_id, f"search-{generation}", GOAL_SEARCH, WorkflowType.BATCH)


def _steps(told: Told, steps: tuple[Step, ...]) -> list[Record]:
    return [told.step(step) for step in steps]


_READ: dict[str, Callable[[Event, Any], list[Record]]] = {
    ArtifactRegistered.event_type: _registered,
    ArtifactLifecycle.event_type: _lifecycle,
    JobChanged.event_type: _job,
    VideoTranscoded.event_type: _transcoded,
    GoalChanged.event_type: _goal,
    GoalVideoJudged.event_type: _judged,
    GoalVideoKept.event_type: _kept,
}
TYPES = frozenset(_READ)


def _payload(event: Event) -> Payload:
    try:
        return PAYLOADS[event.type].model_validate(event.data)
    except ValidationError as error:
        wrong = [".".join(map(str, detail["loc"])) for detail in error.errors(include_input=False)]
        raise InvalidInput(f"{event.type} cannot be read", field=wrong[0], why=f"wrong: {', '.join(wrong)}") from None
