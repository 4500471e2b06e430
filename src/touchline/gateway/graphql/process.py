"""The process plane in GraphQL: how far a video is, and the text in its pictures.

Invariant: everything is read inside the caller's tenant; another tenant's video is one that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import strawberry

from touchline.kernel import Scope, parse_artifact_hash, video_id
from touchline.process.queue.jobs import Job, JobStatus, JobType
from touchline.process.videos import queries

from .context import Info
from .pages import Connection, Cursor, PageInput, PageRows, connection, window

# --- Sampled pictures: where a text stands in one, and where to fetch it.


@strawberry.type(description="In pixels of the sampled frames. Their size is null if unknown.")
class BoundingBox:
    x: int
    y: int
    width: int
    height: int
    frame_width: int | None
    frame_height: int | None


async def frame_url(info: Info, artifact_hash: str, at_ms: float) -> str | None:
    """Of the picture that shows this moment; None when there is none, or no such video any more."""
    context, wanted = info.context, parse_artifact_hash(artifact_hash)
    frame = await context.loaders.frames.load(queries.VideoMoment(video_id(wanted), int(at_ms)))
    upload = frame and await context.loaders.uploads.load(wanted)
    if frame is None or upload is None:
        return None
    links, tenant_id = context.composition.media.links, context.principal.tenant_id
    return links.frame(tenant_id, upload.playback_id, wanted, frame).url


# --- Types and queries.

STAGES = (JobType.TRANSCODE, JobType.SAMPLE, JobType.OCR, JobType.SEGMENT_INDEX)
STAGES_OF_CLIPS = (JobType.CLIP_GENERATE, JobType.TRANSCODE)  # its text is found in the video that it was cut from
READY, REQUESTED = "ready", "requested"
Row = TypeVar("Row", queries.SegmentRow, queries.EntityRow)


@strawberry.type(
    description="A text in one place of the picture, from the first frame that shows it to the first that does not."
)
class Segment:
    id: strawberry.ID
    text: str
    normalized_text: str
    t_start: float = strawberry.field(description="Milliseconds.")
    t_end: float
    confidence: float
    bounding_box: BoundingBox
    language: str | None
    artifact_hash: strawberry.Private[str]

    @strawberry.field(
        description="The first frame that shows it; the box refers to this frame. A signed path, without the host."
    )
    async def frame_url(self, info: Info) -> str | None:
        return await frame_url(info, self.artifact_hash, self.t_start)


@strawberry.type(description="An entity in a text: a mention, hashtag, URL, emoji or number.")
class Entity:
    id: strawberry.ID
    segment_id: strawberry.ID
    entity_type: str
    value: str
    normalized_value: str
    number_kind: str | None = strawberry.field(description="plain, currency, unit, score or clock.")
    position: int
    t_start: float


@strawberry.type(description="One stage of the pipeline. Without a status it has not started.")
class Stage:
    job_type: str
    job_id: strawberry.ID | None = strawberry.field(description="The job that `job` shows and `retryJobs` takes.")
    status: str | None
    progress_percent: int | None
    attempt: int
    error_type: str | None = strawberry.field(description="Cancelled: a person cancelled it.")
    error_message: str | None
    started_at: datetime | None
    finished_at: datetime | None


@strawberry.type(description="A video in the pipeline. It stays playable if a later stage fails.")
class Video:
    artifact_hash: str
    status: str = strawberry.field(
        description="requested (a clip that was not cut yet), uploaded, playable, ready or failed."
    )
    is_playable: bool
    is_searchable: bool
    duration_ms: float | None
    frame_width: int | None
    frame_height: int | None
    revision: int
    original_missing_since: datetime | None = strawberry.field(
        description="The original is missing from the object store: existing outputs stay, but no new ones can be made."
    )
    stages: list[Stage]

    @strawberry.field(description="In order of time.")
    async def segments_connection(self, info: Info, page: PageInput | None = None) -> Connection[Segment]:
        context, wanted = info.context, video_id(parse_artifact_hash(self.artifact_hash))
        cursor = context.cursor(f"segments {wanted}")
        found = await context.composition.sources.process.segments(context.principal, wanted, _asked(page, cursor))
        return connection(_rows(found), [segment_of(row, self) for row in found.rows], _place, cursor)

    @strawberry.field(description="In order of time.")
    async def entities_connection(self, info: Info, page: PageInput | None = None) -> Connection[Entity]:
        context, wanted = info.context, video_id(parse_artifact_hash(self.artifact_hash))
        cursor = context.cursor(f"entities {wanted}")
        found = await context.composition.sources.process.entities(context.principal, wanted, _asked(page, cursor))
        return connection(_rows(found), [entity_of(row) for row in found.rows], _place, cursor)


@strawberry.type
class ProcessQueries:
    @strawberry.field
    async def video(self, info: Info, artifact_hash: str) -> Video | None:
        """None while nobody has begun to process it, and when it was deleted."""
        context = info.context
        context.principal.require(Scope.READ)
        wanted = parse_artifact_hash(artifact_hash)
        upload, clip = await context.loaders.uploads.load(wanted), await context.loaders.clips.load(wanted)
        if upload is None and clip is None:
            return None
        state, jobs = await context.composition.sources.process.video(context.principal, video_id(wanted))
        return video_of(wanted, state, jobs) if state or jobs else None


def video_of(artifact_hash: str, state: queries.VideoState | None, jobs: Sequence[Job]) -> Video:
    newest = {job.job_type: job for job in jobs}  # they come oldest first
    stages = STAGES_OF_CLIPS if JobType.CLIP_GENERATE in newest else STAGES
    return Video(
        artifact_hash=artifact_hash,
        status=state.status if state else REQUESTED,
        is_playable=state is not None and state.is_playable,
        is_searchable=state is not None and state.status == READY,
        duration_ms=state and state.duration_ms,
        frame_width=state and state.frame_width,
        frame_height=state and state.frame_height,
        revision=state.revision if state else 0,
        original_missing_since=state and state.original_missing_since,
        stages=[_stage(job_type, newest.get(job_type)) for job_type in stages],
    )


def _stage(job_type: JobType, job: Job | None) -> Stage:
    """A job that runs or is done keeps its last failure, but that is no longer its state."""
    error = job.error if job and job.status in (JobStatus.QUEUED, JobStatus.FAILED) else None
    return Stage(
        job_type=job_type,
        job_id=strawberry.ID(str(job.id)) if job else None,
        status=job and job.status,
        progress_percent=job and job.progress_percent,
        attempt=job.attempt if job else 0,
        error_type=error and error.type,
        error_message=error and error.message,
        started_at=job and job.started_at,
        finished_at=job and job.finished_at,
    )


def segment_of(row: queries.SegmentRow, video: Video) -> Segment:
    return Segment(
        id=strawberry.ID(str(row.id)),
        text=row.text,
        normalized_text=row.normalized_text,
        t_start=row.t_start,
        t_end=row.t_end,
        confidence=row.confidence,
        bounding_box=BoundingBox(**row.bounding_box, frame_width=video.frame_width, frame_height=video.frame_height),
        language=row.language,
        artifact_hash=video.artifact_hash,
    )


def entity_of(row: queries.EntityRow) -> Entity:
    return Entity(
        id=strawberry.ID(str(row.id)),
        segment_id=strawberry.ID(str(row.segment_id)),
        entity_type=row.entity_type,
        value=row.value,
        normalized_value=row.normalized_value,
        number_kind=row.number_kind,
        position=row.position,
        t_start=row.t_start,
    )


def _asked(page: PageInput | None, cursor: Cursor) -> queries.TimeWindow:
    asked = window(page, cursor)
    return queries.TimeWindow(asked.size, _opened(asked.after), _opened(asked.before), asked.from_the_end)


def _rows(found: queries.TimePage[Row]) -> PageRows[Row]:
    return PageRows(found.rows, found.has_next, found.has_previous, found.total)


def _place(row: queries.SegmentRow | queries.EntityRow) -> bytes:
    return f"{row.t_start} {row.id}".encode()


def _opened(place: bytes | None) -> queries.TimeCursor | None:
    if place is None:
        return None
    t_start, row_id = place.decode().split(" ")
    return queries.TimeCursor(int(t_start), UUID(row_id))
