"""Pictures that were taken of a video, and how they were taken."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sampling:
    """What all pictures of one attempt have in common."""

    attempt: int
    every_ms: int  # the step; a picture that shows nothing new is left out
    width: int
    height: int
    duration_ms: int  # of the video
    frames: int
