"""Searching: a text becomes a page of hits, or the words that may follow.

Invariant: a page starts strictly below the place where the one before ended, so what comes or goes between two pages
neither repeats nor hides anything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from touchline.kernel import Principal, TenantId
from touchline.kernel.errors import InvalidInput, LimitExceeded
from touchline.platform.postgres.database import Database, Transaction

from . import rules
from .model import Box, Filters, Hit, Page, Place, Query, Sort, Suggestion, Where
from .query import LONGEST_QUERY, parse
from .store import TOP, FoundSegment, SearchStore
from .words import split

PAGE_SIZE = 20
LARGEST_PAGE = 200
MOST_SUGGESTIONS = 20
MOST_FILTERS = 100
SIGNS = "-#@"  # that may stand before a word and stay there when it is completed
MOST_VIDEOS = 10_000  # that labels may stand for


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    filters: Filters | None = None
    sort: Sort = Sort.RELEVANCE
    first: int = PAGE_SIZE
    after: Place | None = None


class Search:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, tenant: TenantId | Principal, question: Question) -> Page:
        if not 0 < question.first <= LARGEST_PAGE:
            raise InvalidInput("not a page size", field="first", why=f"it is between 1 and {LARGEST_PAGE}")
        if _count(question.filters or Filters()) > MOST_FILTERS:
            raise InvalidInput("too many filters", field="filters", why=f"the limit is {MOST_FILTERS}")
        query = parse(question.text, question.filters)
        async with self._database.transaction(tenant) as transaction:
            return await _page(SearchStore(transaction.connection), query, question)

    async def suggestions(self, tenant: TenantId | Principal, text: str, most: int = 10) -> tuple[Suggestion, ...]:
        """What was typed with its last word completed, most frequent first. Nothing for what cannot be completed."""
        if not 0 < most <= MOST_SUGGESTIONS:
            raise InvalidInput("not that many", field="first", why=f"it is between 1 and {MOST_SUGGESTIONS}")
        before, _, last = text[-LONGEST_QUERY:].rpartition(" ")
        words = split(last)
        if len(words) != 1 or ":" in last:
            return ()
        async with self._database.transaction(tenant) as transaction:
            found = await SearchStore(transaction.connection).suggestions(words[0], most)
        signs = last[: len(last) - len(last.lstrip(SIGNS))]
        return tuple(Suggestion(f"{before} {signs}{shown}".strip(), segments) for shown, segments in found)


async def forget(transaction: Transaction, video_id: UUID) -> None:
    """A deleted video is found no more as soon as this commits."""
    await SearchStore(transaction.connection).forget(video_id)


async def remember(transaction: Transaction, video_id: UUID) -> None:
    """An undeleted video is found again as soon as this commits, by what was read in it before."""
    await SearchStore(transaction.connection).remember(video_id)


async def _page(store: SearchStore, query: Query, question: Question) -> Page:
    corrected = rules.corrected_words(query, question.after.corrected) if question.after else ()
    videos = await _videos(store, query.filters)
    if videos is not None and not videos:
        return Page((), None)
    wanted = rules.wanted(query, corrected, videos)
    reading, found = await store.page(wanted, question.sort, question.first + 1, question.after or TOP)
    made = rules.corrections(query, reading.spelling)
    hits = tuple(_hit(one, query, reading) for one in found[: question.first])
    more = len(found) > question.first
    last = Place(hits[-1].rank, hits[-1].segment_id, rules.correction_mask(query, made)) if more else None
    shown = await store.shown([word for one in made for word in one.read_as])
    return Page(hits, last, rules.worded(made, question.text, shown))


async def _videos(store: SearchStore, filters: Filters) -> Sequence[UUID] | None:
    """The videos that the filters leave; None: all."""
    wanted = set(filters.videos) if filters.videos else None
    for kind, value in filters.labels:
        labeled = await store.labeled(kind, sorted(set(split(value))), MOST_VIDEOS + 1)
        if len(labeled) > MOST_VIDEOS:
            raise LimitExceeded(f"`{kind}:{value}` stands for too many videos", why=f"the limit is {MOST_VIDEOS}")
        wanted = labeled if wanted is None else wanted & labeled
    return None if wanted is None else sorted(wanted)


def _count(filters: Filters) -> int:
    return sum(map(len, (filters.videos, filters.languages, filters.entities, filters.labels, filters.where)))


def _hit(found: FoundSegment, query: Query, reading: rules.Reading) -> Hit:
    return Hit(
        segment_id=found.segment_id,
        video_id=found.video_id,
        text=found.text,
        fragments=rules.fragments(found.text, query, reading),
        where=Where(found.place),
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


def _box(sides: dict[str, int] | None) -> Box | None:
    return Box(**{side: sides.get(side, 0) for side in ("x", "y", "width", "height")}) if sides is not None else None
