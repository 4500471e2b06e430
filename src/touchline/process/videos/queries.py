"""Reads of a video for the gateway: its state, its frames, and its segments and entities in pages by time.

Invariants: a frame that was kept shows its video until the next one, so the last one at or before a moment shows
that moment. A page is found by the exact key of its neighbours, so nothing is shown twice or left out.
"""

# ruff: noqa: S608  only constants are put into the statements

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, LiteralString, TypeVar
from uuid import UUID

from touchline.platform.postgres.database import Transaction, fetch_all, fetch_one

FIND: LiteralString = """
SELECT v.video_id, v.status, v.s3_proxy_path IS NOT NULL AS is_playable, v.duration_ms, v.revision,
       v.original_missing_since,
       v.s3_storyboard_path IS NOT NULL AS has_storyboard, s.width AS frame_width,
       s.height AS frame_height
  FROM process.videos AS v
  LEFT JOIN process.samplings AS s ON s.tenant_id = v.tenant_id AND s.video_id = v.video_id
 WHERE v.tenant_id = (SELECT platform.current_tenant()) AND v.video_id = %(video_id)s
"""


@dataclass(frozen=True, slots=True)
class VideoState:
    """A video may be playable before it is searchable."""

    video_id: UUID
    status: str
    is_playable: bool
    duration_ms: int | None
    revision: int
    original_missing_since: datetime | None
    has_storyboard: bool  # beside its playlist
    frame_width: int | None  # bounding boxes are in pixels of such a frame
    frame_height: int | None


async def find_video(transaction: Transaction, video_id: UUID) -> VideoState | None:
    return await fetch_one(transaction.connection, VideoState, FIND, video_id=video_id)


FRAMES_AT: LiteralString = """
SELECT w.video_id, w.at_ms, f.attempt, f.timestamp_ms
  FROM unnest(%(videos)s::uuid[], %(times)s::bigint[]) AS w (video_id, at_ms)
 CROSS JOIN LATERAL (
   SELECT f.attempt, f.timestamp_ms FROM process.frames AS f
    WHERE f.tenant_id = (SELECT platform.current_tenant()) AND f.video_id = w.video_id AND f.timestamp_ms <= w.at_ms
    ORDER BY f.timestamp_ms DESC LIMIT 1) AS f
"""


@dataclass(frozen=True, slots=True)
class VideoMoment:
    video_id: UUID
    at_ms: int


@dataclass(frozen=True, slots=True)
class FrameName:
    """Identifies a frame of its video."""

    attempt: int
    timestamp_ms: int


async def frames_at(transaction: Transaction, moments: Sequence[VideoMoment]) -> Mapping[VideoMoment, FrameName]:
    """Without the moments that have no frame."""
    values = {"videos": [one.video_id for one in moments], "times": [one.at_ms for one in moments]}
    rows = await (await transaction.connection.execute(FRAMES_AT, values)).fetchall()
    return {VideoMoment(video_id, at_ms): FrameName(*name) for video_id, at_ms, *name in rows}


SEGMENTS: LiteralString = "id, text, normalized_text, t_start, t_end, confidence, bounding_box, language"
ENTITIES: LiteralString = "id, segment_id, entity_type, value, normalized_value, number_kind, position, t_start"


@dataclass(frozen=True, slots=True)
class TimeCursor:
    t_start: int
    id: UUID


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The rows strictly between two cursors: the first of them, or the last."""

    size: int
    after: TimeCursor | None
    before: TimeCursor | None
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
class TimePage(Generic[Row]):
    rows: Sequence[Row]
    has_previous: bool
    has_next: bool
    total: int


async def list_segments(transaction: Transaction, video_id: UUID, window: TimeWindow) -> TimePage[SegmentRow]:
    return await _page(transaction, SegmentRow, ("process.segments", SEGMENTS), video_id, window)


async def list_entities(transaction: Transaction, video_id: UUID, window: TimeWindow) -> TimePage[EntityRow]:
    return await _page(transaction, EntityRow, ("process.entities", ENTITIES), video_id, window)


async def _page(
    transaction: Transaction,
    make: Callable[..., Row],
    source: tuple[LiteralString, LiteralString],
    video_id: UUID,
    window: TimeWindow,
) -> TimePage[Row]:
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
    values = {"video_id": video_id, "size": window.size, **_bounds("after", window.after)}
    rows = await fetch_all(transaction.connection, make, query, **values, **_bounds("before", window.before))
    rows = sorted(rows, key=lambda row: (row.t_start, row.id))
    if not rows:
        total, *_ = await _count_around(transaction, table, video_id, None, None)
        return TimePage(rows, window.after is not None and total > 0, window.before is not None and total > 0, total)
    total, before, behind = await _count_around(transaction, table, video_id, _cursor(rows[0]), _cursor(rows[-1]))
    return TimePage(rows, before > 0, behind > 0, total)


def _cursor(row: SegmentRow | EntityRow) -> TimeCursor:
    return TimeCursor(row.t_start, row.id)


async def _count_around(
    transaction: Transaction, table: LiteralString, video_id: UUID, first: TimeCursor | None, last: TimeCursor | None
) -> tuple[int, int, int]:
    """How many rows the video has, and how many of them are before and after."""
    query: LiteralString = f"""
SELECT count(*),
       count(*) FILTER (WHERE (t_start, id) < (%(first_ms)s::bigint, %(first_id)s::uuid)),
       count(*) FILTER (WHERE (t_start, id) > (%(last_ms)s::bigint, %(last_id)s::uuid))
  FROM {table}
 WHERE tenant_id = (SELECT platform.current_tenant()) AND video_id = %(video_id)s
"""
    values = {"video_id": video_id, **_bounds("first", first), **_bounds("last", last)}
    [(total, before, behind)] = await (await transaction.connection.execute(query, values)).fetchall()
    return total, before, behind


def _bounds(name: str, place: TimeCursor | None) -> dict[str, Any]:
    return {f"{name}_ms": place.t_start if place else None, f"{name}_id": place.id if place else None}
