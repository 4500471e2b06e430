"""Which pictures belong to a clip, and which of them need not be encoded. Pure, and light.

Invariant: a picture belongs to the clip if its time, in whole milliseconds, is at or behind the start and before the
end; so whoever asks for the milliseconds that a sample was named with gets this picture first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from . import rules
from .clip_model import CutMethod
from .model import ContainerFormat, VideoTrack


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
