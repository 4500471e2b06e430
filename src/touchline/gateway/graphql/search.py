"""Search in GraphQL: hits with what matched, where it stands and the millisecond to jump to."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated
from uuid import UUID

import strawberry

from touchline.kernel import InvalidInput, Scope, parse_artifact_hash
from touchline.process.search.model import QueryFilters, SearchCursor, Sort, TextHit, TextPlace
from touchline.process.search.service import MOST_COUNTED, PAGE_SIZE, SearchRequest

from .context import Info
from .pages import PageInfo
from .process import BoundingBox, frame_url
from .results import AuthError, RateLimitError, ValidationError, as_result
from .serve import Vod, find_vod

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
        raise InvalidInput("not a confidence", field="filters.min_confidence", why="it must be between 0 and 1")
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
        raise InvalidInput("not a video's id", field="filters.videos", why="it is not a UUID") from error


def _utc(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at and at.tzinfo is None else at
