"""What a clip is asked for, and what it became. Shared with the child: it imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CLIP = "clip.mp4"


class CutMethod(StrEnum):
    """What happened to the pictures."""

    COPIED = "copied"  # bit by bit: the range begins and ends at keyframes
    EDGES = "edges"  # only what lies before the first and behind the last keyframe was encoded
    ENCODED = "encoded"


@dataclass(frozen=True, slots=True)
class ClipRange:
    """Media time, from the first picture that does not begin before `start_ms` to the last that begins before `end_ms`.
    The padding is added on both sides, as far as there is anything."""

    start_ms: int
    end_ms: int
    padding_ms: int = 0

    @property
    def padded_start_ms(self) -> int:
        return max(0, self.start_ms - self.padding_ms)

    @property
    def padded_end_ms(self) -> int:
        return self.end_ms + self.padding_ms


@dataclass(frozen=True, slots=True)
class ClipOptions:
    start_ms: int
    end_ms: int
    first_picture_us: int | None = None  # its media time; none where the source's own times say it


@dataclass(frozen=True, slots=True)
class Cut:
    """What a child says about the clip that it wrote."""

    start_ms: int  # as cut: when the first picture begins
    end_ms: int  # and when the last one ends
    frames: int
    method: CutMethod
    width: int
    height: int
    has_sound: bool


@dataclass(frozen=True, slots=True)
class ClipFile:
    path: str  # from the output folder
    size_bytes: int
    cut: Cut
