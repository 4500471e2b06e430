"""How often a video is looked at, and where its pictures lie. Pure."""

from __future__ import annotations

from math import ceil
from uuid import UUID

from touchline.media.sampling import SHORTEST_STEP_MS
from touchline.media.sampling_rules import MOST_PICTURES
from touchline.platform.objects.keys import ObjectKey, join_key

FRAMES = "frames"
PICTURE_TYPE = "image/jpeg"
FETCH_PERCENT, UPLOAD_PERCENT, DONE_PERCENT = 10, 90, 99


def step_ms(target_fps: float, duration_ms: int) -> int:
    """As asked for, but never so often that a very long video has more pictures than can be kept."""
    return max(SHORTEST_STEP_MS, round(1000 / target_fps), ceil(duration_ms / MOST_PICTURES))


def frames_prefix(video_id: UUID, attempt: int) -> ObjectKey:
    return join_key(FRAMES, str(video_id), str(attempt))


def frame_key(video_id: UUID, attempt: int, name: str) -> ObjectKey:
    return join_key(FRAMES, str(video_id), str(attempt), name)


def percent(share: float, start: int, stop: int) -> int:
    return int(start + (stop - start) * min(max(share, 0.0), 1.0))
