"""Pictures of videos for those who look on.

Invariant: what a kept picture shows stays until the next one, so the last one at or before a moment shows that moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from touchline.platform.postgres.database import Transaction

SHOWING: LiteralString = """
SELECT w.video_id, w.at_ms, f.attempt, f.timestamp_ms
  FROM unnest(%(videos)s::uuid[], %(times)s::bigint[]) AS w (video_id, at_ms)
 CROSS JOIN LATERAL (
   SELECT f.attempt, f.timestamp_ms FROM process.frames AS f
    WHERE f.tenant_id = (SELECT platform.current_tenant()) AND f.video_id = w.video_id AND f.timestamp_ms <= w.at_ms
    ORDER BY f.timestamp_ms DESC LIMIT 1) AS f
"""


@dataclass(frozen=True, slots=True)
class Moment:
    video_id: UUID
    at_ms: int


@dataclass(frozen=True, slots=True)
class FrameName:
    """Which picture of its video it is."""

    attempt: int
    timestamp_ms: int


async def frames_showing(transaction: Transaction, moments: Sequence[Moment]) -> Mapping[Moment, FrameName]:
    """Moments of which there is no picture are left out."""
    values = {"videos": [one.video_id for one in moments], "times": [one.at_ms for one in moments]}
    rows = await (await transaction.connection.execute(SHOWING, values)).fetchall()
    return {Moment(video_id, at_ms): FrameName(*name) for video_id, at_ms, *name in rows}
