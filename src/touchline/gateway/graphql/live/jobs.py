"""Live events of jobs: every change, the progress of what runs, and alerts that begin and end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from uuid import UUID

import strawberry

from touchline.contracts.events import videos
from touchline.gateway.graphql.context import Info
from touchline.gateway.graphql.cursors import Cursor
from touchline.gateway.graphql.job_types import JobAlert
from touchline.kernel import Scope
from touchline.kernel.ids import artifact_hash
from touchline.process.queue.jobs import JobStatus

from .artifacts import CURSOR
from .store import LiveEvent

CHANGED, PROGRESSED, ALERT = (kind.event_type for kind in (videos.JobChanged, videos.VideoProgressed, videos.JobAlert))
TYPES = frozenset({CHANGED, PROGRESSED, ALERT})


@strawberry.type
class JobChange:
    job_id: strawberry.ID
    job_type: str
    artifact_hash: str
    status: str
    attempt: int
    progress_percent: int | None
    retry_count: int | None = strawberry.field(description="Null in reports of progress, as all that did not change.")
    priority: int | None
    error_type: str | None
    error_message: str | None
    revision: int | None


@strawberry.type(description="One of the two.")
class JobEvent:
    cursor: str
    occurred_at: datetime
    job: JobChange | None
    alert: JobAlert | None


@strawberry.type
class JobSubscriptions:
    @strawberry.subscription(
        description="What happens to jobs, in order. `cursor` is the position in the log: subscribe again with `after` "
        "and nothing is missed. Without `after`: from when the connection was opened."
    )
    async def live_jobs(self, info: Info, after: str | None = None) -> AsyncGenerator[JobEvent]:
        context, live = info.context, info.context.live
        context.principal.require(Scope.READ)
        cursor = context.cursor(CURSOR)
        position = live.position if after is None else int.from_bytes(cursor.open(after, "after"))
        async for event in context.parts.feeds.listen(context.principal.tenant_id, position, live.close, TYPES):
            yield show(event, cursor)


def show(event: LiveEvent, cursor: Cursor) -> JobEvent:
    return JobEvent(
        cursor=cursor.seal(event.position.to_bytes(8)),
        occurred_at=event.occurred_at,
        job=None if event.type == ALERT else _change(event),
        alert=_alert(event) if event.type == ALERT else None,
    )


def _change(event: LiveEvent) -> JobChange:
    data, changed = event.data, event.type == CHANGED
    return JobChange(
        job_id=strawberry.ID(data["job_id"]),
        job_type=data["job_type"],
        artifact_hash=artifact_hash(UUID(data["video_id"])) if changed else data["artifact_hash"],
        status=data["status"] if changed else JobStatus.PROCESSING,
        attempt=data["attempt"],
        progress_percent=data.get("progress_percent"),
        retry_count=data.get("retry_count"),
        priority=data.get("priority"),
        error_type=data.get("error_type"),
        error_message=data.get("error_message"),
        # Progress raises the video's revision, which says nothing about the job's.
        revision=event.revision if changed else None,
    )


def _alert(event: LiveEvent) -> JobAlert:
    fields = ("kind", "job_type", "raised", "value", "threshold")
    return JobAlert(
        **{name: event.data[name] for name in fields}, changed_at=event.occurred_at, revision=event.revision
    )
