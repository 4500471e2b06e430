"""How often a video is sampled, and the keys of its frames. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from uuid import UUID

from touchline.media.rules import MOST_PICTURES
from touchline.media.tasks import SHORTEST_STEP_MS
from touchline.platform.objects.rules import ObjectKey, join_key
from touchline.process.queue.rules import ProgressStage


@dataclass(frozen=True, slots=True)
class Sampling:
    """What all frames of one attempt have in common."""

    attempt: int
    every_ms: int  # the step; a frame that shows nothing new is left out
    width: int
    height: int
    duration_ms: int  # of the video
    frames: int


FRAMES = "frames"
FRAME_ENDING = ".jpg"
PICTURE_TYPE = "image/jpeg"


class SampleStage(ProgressStage):
    FETCH = (0, 10)
    SAMPLE = (10, 90)
    UPLOAD = (90, 99)


def step_ms(target_fps: float, duration_ms: int) -> int:
    """As requested, but never so small that a very long video has more frames than can be stored."""
    return max(SHORTEST_STEP_MS, round(1000 / target_fps), ceil(duration_ms / MOST_PICTURES))


def frames_prefix(video_id: UUID, attempt: int) -> ObjectKey:
    return join_key(FRAMES, str(video_id), str(attempt))


def frame_key(video_id: UUID, attempt: int, name: str) -> ObjectKey:
    return join_key(FRAMES, str(video_id), str(attempt), name)


def is_frame(path: str) -> bool:
    """While frames are sampled, their list is in the same folder."""
    return path.endswith(FRAME_ENDING)
