"""The process plane in GraphQL: how far a video is, and the text in its pictures.

Invariant: everything is read inside the caller's tenant; another tenant's video is one that does not exist.

Search in GraphQL: hits with what matched, where it stands and the millisecond to jump to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, TypeVar
from uuid import UUID

import strawberry

from touchline.kernel import InvalidInput, Scope, parse_artifact_hash, video_id
from touchline.process.queue.jobs import Job, JobStatus, JobType
from touchline.process.search.model import QueryFilters, SearchCursor, Sort, TextHit, TextPlace
from touchline.process.search.service import MOST_COUNTED, PAGE_SIZE, SearchRequest
from touchline.process.videos import queries

from .context import Info
from .pages import Connection, Cursor, PageInfo, PageInput, PageRows, connection, window
from .results import AuthError, RateLimitError, ValidationError, as_result
from .serve import Vod, find_vod

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


SEARCH = "search"
LABELS = ("match", "team", "player")


@strawberry.enum
class SearchSort(Enum):
    RELEVANCE = "relevance"
    RECENCY = "recency"
    CONFIDENCE = "confidence"


@strawberry.enum(description="Where a text was found.")
class SearchPlace(Enum):
    PICTURE = strawberry.enum_value("picture", description="Text that is visible in the video.")
    TITLE = strawberry.enum_value("title", description="The title of the video.")
    MATCH = strawberry.enum_value("match", description="The teams, score and scorer of the goal in the video.")


@strawberry.input(description="The same as filters in the query itself, which supports more of them.")
class SearchFilters:
    videos: list[str] | None = strawberry.field(default=None, description="Any of these ids.")
    languages: list[str] | None = strawberry.field(default=None, description="Any of these.")
    entities: list[str] | None = strawberry.field(
        default=None, description="All of these: `hashtag`, `score`, or with a value, `hashtag:coyg`."
    )
    match: str | None = None
    team: str | None = None
    player: str | None = None
    after: datetime | None = strawberry.field(default=None, description="When the video was added.")
    before: datetime | None = None
    min_confidence: float | None = None
    where: list[SearchPlace] | None = strawberry.field(default=None, description="Any of these.")


@strawberry.type
class TextFragment:
    text: str
    matched: bool


@strawberry.type(
    description="A text in one place of a video, from when it appears to when it "
    "disappears. Or the title of the video, "
    "or the teams and scorer of its goal: these have the time of the start of the video."
)
class SearchHit:
    segment_id: strawberry.ID
    where: SearchPlace
    video_id: strawberry.ID
    artifact_hash: str
    text: str
    fragments: list[TextFragment] = strawberry.field(description="The text, split where matches begin and end.")
    box: BoundingBox | None = strawberry.field(description="Null if the text is not from a frame of the video.")
    start_ms: float = strawberry.field(description="The time of the first frame that shows it: seek the player to it.")
    end_ms: float
    confidence: float
    language: str | None
    video_created_at: datetime

    @strawberry.field(description="Null if it was just deleted.")
    async def vod(self, info: Info) -> Vod | None:
        return await find_vod(info, parse_artifact_hash(self.artifact_hash))

    @strawberry.field(
        description="The first frame that shows it; the box refers to this frame. A signed path, without the host."
    )
    async def frame_url(self, info: Info) -> str | None:
        return await frame_url(info, self.artifact_hash, self.start_ms) if self.box else None


@strawberry.type
class SearchEdge:
    cursor: str
    node: SearchHit


@strawberry.type(description="A word without results, and the words one typo away that were searched instead.")
class SearchCorrection:
    word: str
    read_as: list[str]


@strawberry.type
class SearchPlaceCount:
    where: SearchPlace
    count: int = strawberry.field(description=f"The number of matching texts in this place, at most {MOST_COUNTED}.")
    has_more: bool = strawberry.field(description="There are more than the counted ones.")


@strawberry.type
class SearchPage:
    edges: list[SearchEdge]
    page_info: PageInfo
    corrections: list[SearchCorrection]
    question: strawberry.Private[SearchRequest]

    @strawberry.field(
        description="The number of results for each value of the filter `where`, regardless of the current value."
    )
    async def places(self, info: Info) -> list[SearchPlaceCount]:
        found = await info.context.composition.sources.search.places(info.context.principal, self.question)
        return [SearchPlaceCount(where=SearchPlace(one.where), count=one.count, has_more=one.has_more) for one in found]


@strawberry.type
class SearchSuggestion:
    text: str = strawberry.field(description="The typed text, with its last word completed.")
    segments: int = strawberry.field(description="The number of texts with that word.")


SearchResult = Annotated[SearchPage | ValidationError | AuthError | RateLimitError, strawberry.union("SearchResult")]


@strawberry.type
class SearchQueries:
    @strawberry.field(
        description="Searches titles, goals and text that is visible in videos. "
        "docs/howto/search.md describes the query."
    )
    async def search(
        self,
        info: Info,
        query: str,
        filters: SearchFilters | None = None,
        sort: SearchSort = SearchSort.RELEVANCE,
        first: int = PAGE_SIZE,
        after: str | None = None,
    ) -> SearchResult:
        question = SearchRequest(query, None, Sort(sort.value), first)
        return await as_result(SearchResult, _search(info, question, filters or SearchFilters(), after))

    @strawberry.field(description="Completions of the typed text, most frequent first.")
    async def search_suggestions(self, info: Info, prefix: str, first: int = 10) -> list[SearchSuggestion]:
        context = info.context
        context.principal.require(Scope.READ)
        found = await context.composition.sources.search.suggestions(context.principal, prefix, first)
        return [SearchSuggestion(text=one.text, segments=one.segments) for one in found]


async def _search(info: Info, asked: SearchRequest, filters: SearchFilters, after: str | None) -> SearchPage:
    context = info.context
    context.principal.require(Scope.READ)
    cursor = context.cursor(f"{SEARCH} {asked.sort} {asked.text}")  # of this question alone
    place = None if after is None else SearchCursor.from_bytes(cursor.open(after, "after"))
    question = SearchRequest(asked.text, _filters(filters), asked.sort, asked.first, place)
    found = await context.composition.sources.search.page(context.principal, question)
    mask = found.next.corrected if found.next else 0
    places = [SearchCursor(hit.rank, hit.segment_id, mask) for hit in found.hits]
    edges = [
        SearchEdge(cursor=cursor.seal(place.to_bytes()), node=_node(hit))
        for place, hit in zip(places, found.hits, strict=True)
    ]
    return SearchPage(
        edges=edges,
        page_info=PageInfo(
            has_next_page=found.next is not None,
            has_previous_page=after is not None,
            start_cursor=edges[0].cursor if edges else None,
            end_cursor=edges[-1].cursor if edges else None,
        ),
        corrections=[SearchCorrection(word=one.word, read_as=list(one.read_as)) for one in found.corrections],
        question=question,
    )


def _node(hit: TextHit) -> SearchHit:
    return SearchHit(
        segment_id=strawberry.ID(str(hit.segment_id)),
        video_id=strawberry.ID(str(hit.video_id)),
        artifact_hash=hit.video_id.hex,
        text=hit.text,
        fragments=[TextFragment(text=part.text, matched=part.matched) for part in hit.fragments],
        where=SearchPlace(hit.where),
        box=_box(hit),
        start_ms=hit.start_ms,
        end_ms=hit.end_ms,
        confidence=hit.confidence,
        language=hit.language,
        video_created_at=hit.video_created_at,
    )


def _box(hit: TextHit) -> BoundingBox | None:
    if hit.box is None:
        return None
    return BoundingBox(**asdict(hit.box), frame_width=hit.picture_width, frame_height=hit.picture_height)


def _filters(given: SearchFilters) -> QueryFilters:
    if given.min_confidence is not None and not 0 <= given.min_confidence <= 1:
        raise InvalidInput("not a valid confidence", field="filters.min_confidence", why="it must be between 0 and 1")
    labels = ((kind, getattr(given, kind)) for kind in LABELS)
    return QueryFilters(
        videos=tuple(_video(video) for video in given.videos or ()),
        languages=tuple(language.lower() for language in given.languages or ()),
        entities=tuple(given.entities or ()),
        labels=tuple((kind, value) for kind, value in labels if value is not None),
        after=_utc(given.after),
        before=_utc(given.before),
        min_confidence=given.min_confidence,
        where=tuple(TextPlace(one.value) for one in given.where or ()),
    )


def _video(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise InvalidInput("not a valid video id", field="filters.videos", why="it is not a UUID") from error


def _utc(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at
