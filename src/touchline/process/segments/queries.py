"""Segments and entities of a video for those who look on, in pages, in the order of time.

Invariant: a page is found by the exact key of its neighbours, so that nothing is shown twice or left out.
"""

# ruff: noqa: S608  what is put into the statements are constant names

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, LiteralString, TypeVar
from uuid import UUID

from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_all

SEGMENTS: LiteralString = "id, text, normalized_text, t_start, t_end, confidence, bounding_box, language"
ENTITIES: LiteralString = "id, segment_id, entity_type, value, normalized_value, number_kind, position, t_start"


@dataclass(frozen=True, slots=True)
class Place:
    t_start: int
    id: UUID


@dataclass(frozen=True, slots=True)
class Window:
    """The rows strictly between two places: the first of them, or the last."""

    size: int
    after: Place | None
    before: Place | None
    from_the_end: bool


@dataclass(frozen=True, slots=True)
class SegmentRow:
    id: UUID
    text: str
    normalized_text: str
    t_start: int
    t_end: int
    confidence: float
    bounding_box: dict[str, int]
    language: str | None


@dataclass(frozen=True, slots=True)
class EntityRow:
    id: UUID
    segment_id: UUID
    entity_type: str
    value: str
    normalized_value: str
    number_kind: str | None
    position: int
    t_start: int


Row = TypeVar("Row", SegmentRow, EntityRow)


@dataclass(frozen=True, slots=True)
class Found(Generic[Row]):
    rows: Sequence[Row]
    has_previous: bool
    has_next: bool
    total: int


async def segments_of(transaction: Transaction, video_id: UUID, window: Window) -> Found[SegmentRow]:
    return await _page(transaction, SegmentRow, ("process.segments", SEGMENTS), video_id, window)


async def entities_of(transaction: Transaction, video_id: UUID, window: Window) -> Found[EntityRow]:
    return await _page(transaction, EntityRow, ("process.entities", ENTITIES), video_id, window)


async def _page(
    transaction: Transaction,
    make: Callable[..., Row],
    source: tuple[LiteralString, LiteralString],
    video_id: UUID,
    window: Window,
) -> Found[Row]:
    table, columns = source
    order: LiteralString = "DESC" if window.from_the_end else "ASC"
    query: LiteralString = f"""
SELECT {columns} FROM {table}
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
   AND (%(after_ms)s::bigint IS NULL OR (t_start, id) > (%(after_ms)s::bigint, %(after_id)s::uuid))
   AND (%(before_ms)s::bigint IS NULL OR (t_start, id) < (%(before_ms)s::bigint, %(before_id)s::uuid))
 ORDER BY t_start {order}, id {order}
 LIMIT %(size)s
"""
    values = {"video_id": video_id, "size": window.size, **_border("after", window.after)}
    rows = await fetch_all(transaction.connection, make, query, **values, **_border("before", window.before))
    rows = sorted(rows, key=lambda row: (row.t_start, row.id))
    if not rows:
        total, *_ = await _around(transaction, table, video_id, None, None)
        return Found(rows, window.after is not None and total > 0, window.before is not None and total > 0, total)
    total, before, behind = await _around(transaction, table, video_id, _place(rows[0]), _place(rows[-1]))
    return Found(rows, before > 0, behind > 0, total)


def _place(row: SegmentRow | EntityRow) -> Place:
    return Place(row.t_start, row.id)


async def _around(
    transaction: Transaction, table: LiteralString, video_id: UUID, first: Place | None, last: Place | None
) -> tuple[int, int, int]:
    """How many rows the video has, and how many of them lie on either side."""
    query: LiteralString = f"""
SELECT count(*),
       count(*) FILTER (WHERE (t_start, id) < (%(first_ms)s::bigint, %(first_id)s::uuid)),
       count(*) FILTER (WHERE (t_start, id) > (%(last_ms)s::bigint, %(last_id)s::uuid))
  FROM {table}
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
    values = {"video_id": video_id, **_border("first", first), **_border("last", last)}
    [(total, before, behind)] = await (await transaction.connection.execute(query, values)).fetchall()
    return total, before, behind


def _border(name: str, place: Place | None) -> dict[str, Any]:
    return {f"{name}_ms": place.t_start if place else None, f"{name}_id": place.id if place else None}
