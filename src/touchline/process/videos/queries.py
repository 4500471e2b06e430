"""Videos of the pipeline for those who look on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from touchline.platform.postgres.database import Transaction
from touchline.platform.postgres.rows import fetch_one

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
    """Whether it can be played and whether it can be searched are two things."""

    video_id: UUID
    status: str
    is_playable: bool
    duration_ms: int | None
    revision: int
    original_missing_since: datetime | None
    has_storyboard: bool  # beside its playlist
    frame_width: int | None  # boxes of texts are in pixels of such a picture
    frame_height: int | None


async def find_video(transaction: Transaction, video_id: UUID) -> VideoState | None:
    return await fetch_one(transaction.connection, VideoState, FIND, video_id=video_id)
