"""Searching: a text becomes a page of hits, or the words that may follow.

Invariant: a page starts strictly below the place where the one before ended, so what comes or goes between two pages
neither repeats nor hides anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from touchline.kernel import InvalidInput, LimitExceeded, Principal, TenantId
from touchline.platform.postgres.database import Database, Transaction
from touchline.process.text import split_words

from . import model, rules
from .store import FIRST_PAGE, FoundSegment, SearchStore

PAGE_SIZE = 20
LARGEST_PAGE = 200
MOST_SUGGESTIONS = 20
MOST_FILTERS = 100
SIGNS = "-#@"  # that may stand before a word and stay there when it is completed
MOST_COUNTED = 999  # texts of a place
MOST_VIDEOS = 10_000  # that labels may stand for


@dataclass(frozen=True, slots=True)
class SearchRequest:
    text: str
    filters: model.QueryFilters | None = None
    sort: model.Sort = model.Sort.RELEVANCE
    first: int = PAGE_SIZE
    after: model.SearchCursor | None = None


class VideoSearch:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: TenantId | Principal, question: SearchRequest) -> model.HitPage:
        if not 0 < question.first <= LARGEST_PAGE:
            raise InvalidInput("invalid page size", field="first", why=f"it must be between 1 and {LARGEST_PAGE}")
        query = _query(question)
        async with self._database.transaction(tenant) as transaction:
            return await _page(SearchStore(transaction.connection), query, question)

    async def places(self, tenant: TenantId | Principal, question: SearchRequest) -> tuple[model.PlaceCount, ...]:
        """How many texts of each place match, whichever places the question asks for."""
        query = _query(question)
        async with self._database.transaction(tenant) as transaction:
            return await _places(SearchStore(transaction.connection), query, question.after)

    async def suggestions(
        self, tenant: TenantId | Principal, text: str, most: int = 10
    ) -> tuple[model.Suggestion, ...]:
        """Completions of the last word that was typed, most frequent first; empty if it cannot be completed."""
        if not 0 < most <= MOST_SUGGESTIONS:
            raise InvalidInput("invalid number", field="first", why=f"it must be between 1 and {MOST_SUGGESTIONS}")
        before, _, last = text[-rules.LONGEST_QUERY :].rpartition(" ")
        words = split_words(last)
        if len(words) != 1 or ":" in last:
            return ()
        async with self._database.transaction(tenant) as transaction:
            found = await SearchStore(transaction.connection).suggestions(words[0], most)
        signs = last[: len(last) - len(last.lstrip(SIGNS))]
        return tuple(model.Suggestion(f"{before} {signs}{shown}".strip(), segments) for shown, segments in found)


async def hide_video(transaction: Transaction, video_id: UUID) -> None:
    """A deleted video is no longer found once this commits."""
    await SearchStore(transaction.connection).forget(video_id)


async def unhide_video(transaction: Transaction, video_id: UUID) -> None:
    """An undeleted video is found again once this commits, by what was read in it before."""
    await SearchStore(transaction.connection).remember(video_id)


def _query(question: SearchRequest) -> model.SearchQuery:
    if _count(question.filters or model.QueryFilters()) > MOST_FILTERS:
        raise InvalidInput("too many filters", field="filters", why=f"the limit is {MOST_FILTERS}")
    return rules.parse_query(question.text, question.filters)


async def _places(
    store: SearchStore, query: model.SearchQuery, after: model.SearchCursor | None
) -> tuple[model.PlaceCount, ...]:
    videos = await _videos(store, query.filters)
    if videos is not None and not videos:
        return tuple(model.PlaceCount(where, 0, has_more=False) for where in model.TextPlace)
    wanted = {
        where: rules.index_request(_only(query, where), _corrected(query, after), videos) for where in model.TextPlace
    }
    requests = {where: one.request for where, one in wanted.items()}
    found = await store.counts(wanted[model.TextPlace.PICTURE], requests, MOST_COUNTED + 1)
    return tuple(
        model.PlaceCount(where, min(found[where], MOST_COUNTED), has_more=found[where] > MOST_COUNTED)
        for where in model.TextPlace
    )


def _only(query: model.SearchQuery, where: model.TextPlace) -> model.SearchQuery:
    return replace(query, filters=replace(query.filters, where=(where,)))


def _corrected(query: model.SearchQuery, after: model.SearchCursor | None) -> tuple[str, ...]:
    return rules.corrected_words(query, after.corrected) if after else ()


async def _page(store: SearchStore, query: model.SearchQuery, question: SearchRequest) -> model.HitPage:
    videos = await _videos(store, query.filters)
    if videos is not None and not videos:
        return model.HitPage((), None)
    wanted = rules.index_request(query, _corrected(query, question.after), videos)
    reading, found = await store.page(wanted, question.sort, question.first + 1, question.after or FIRST_PAGE)
    made = rules.find_corrections(query, reading.spelling)
    hits = tuple(_hit(one, query, reading) for one in found[: question.first])
    more = len(found) > question.first
    last = model.SearchCursor(hits[-1].rank, hits[-1].segment_id, rules.correction_mask(query, made)) if more else None
    shown = await store.shown([word for one in made for word in one.read_as])
    return model.HitPage(hits, last, rules.display_corrections(made, question.text, shown))


async def _videos(store: SearchStore, filters: model.QueryFilters) -> Sequence[UUID] | None:
    """The videos that the filters allow; None: all."""
    wanted = set(filters.videos) if filters.videos else None
    for kind, value in filters.labels:
        labeled = await store.labeled(kind, sorted(set(split_words(value))), MOST_VIDEOS + 1)
        if len(labeled) > MOST_VIDEOS:
            raise LimitExceeded(f"`{kind}:{value}` matches too many videos", why=f"the limit is {MOST_VIDEOS}")
        wanted = labeled if wanted is None else wanted & labeled
    return None if wanted is None else sorted(wanted)


def _count(filters: model.QueryFilters) -> int:
    return sum(map(len, (filters.videos, filters.languages, filters.entities, filters.labels, filters.where)))


def _hit(found: FoundSegment, query: model.SearchQuery, reading: rules.WordVariants) -> model.TextHit:
    return model.TextHit(
        segment_id=found.segment_id,
        video_id=found.video_id,
        text=found.text,
        fragments=rules.fragments(found.text, query, reading),
        where=model.TextPlace(found.place),
        box=_box(found.bounding_box),
        start_ms=found.t_start,
        end_ms=found.t_end,
        confidence=found.confidence,
        language=found.language,
        video_created_at=found.created_at,
        picture_width=found.picture_width,
        picture_height=found.picture_height,
        rank=found.rank,
    )


def _box(sides: dict[str, int] | None) -> model.TextBox | None:
    return (
        model.TextBox(**{side: sides.get(side, 0) for side in ("x", "y", "width", "height")})
        if sides is not None
        else None
    )
