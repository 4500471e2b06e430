"""What a clip is asked for and what it became; which pictures belong to it, and which need not be encoded.

Pure, and light: shared with the child.
Invariant: a picture belongs to the clip if its time, in whole milliseconds, is at or behind the start and before the
end; so whoever asks for the milliseconds that a sample was named with gets this picture first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil

from . import rules
from .model import ContainerFormat, VideoTrack

# What a clip is asked for, and what it became. Shared with the child: it imports nothing heavy.

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


@dataclass(frozen=True, slots=True)
class RangeFindings:
    """What the packets around a range tell, in ticks of the pictures."""

    first: int  # the first picture in the range
    end: int  # where the next picture begins, or the last one ends
    frames: int
    first_key: int | None  # the first and the last picture in the range from which decoding can begin
    last_key: int | None
    ends_at_key: bool  # the next picture is such a one too, or there is none


@dataclass(frozen=True, slots=True)
class ClipPlan:
    method: CutMethod
    copy_from: int  # pictures from here on, and before `copy_to`, are copied; nothing if they are equal
    copy_to: int


def first_tick(time_ms: int, tick: Fraction) -> int:
    """The first one that is that time in whole milliseconds, or later."""
    return ceil((time_ms - Fraction(1, 2)) / 1000 / tick)


def plan_clip(found: RangeFindings, *, may_copy: bool) -> ClipPlan:
    if may_copy and found.first_key is not None and found.last_key is not None:
        copy_to = found.end if found.ends_at_key else found.last_key
        if found.first_key < copy_to:
            whole = found.first_key == found.first and copy_to == found.end
            return ClipPlan(CutMethod.COPIED if whole else CutMethod.EDGES, found.first_key, copy_to)
    return ClipPlan(CutMethod.ENCODED, found.end, found.end)


def is_copyable(kind: ContainerFormat, video: VideoTrack) -> bool:
    """Whether clips may carry the pictures as they are."""
    return kind in rules.COPYABLE and video.codec == "h264" and video.pixel_format in rules.EIGHT_BIT_420
