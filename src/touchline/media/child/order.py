"""What the parent asks of a child: one task, its bounds, and the user to become. Travels as one JSON argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Limits:
    wall_s: float  # the parent's clock
    cpu_s: int
    memory_bytes: int
    file_bytes: int
    output_bytes: int  # all files together; the parent's eye
    processes: int | None  # none where other processes of the same user would count


@dataclass(frozen=True, slots=True)
class Options:
    """What every task that opens a video needs to know."""

    threads: int
    most_pixels: int
    most_streams: int
    longest_ms: int
    keyframe_gap_ms: int
    segment_ms: int
    poster_width: int


@dataclass(frozen=True, slots=True)
class Order:
    task: str
    options: dict[str, Any]
    limits: Limits
    folder: str | None  # to stand in; none where it stands there already
    user_id: int | None  # to become, where root started it
    parent_id: int | None  # to die with, where no namespace sees to it

    def encode(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> Order:
        fields = json.loads(text)
        return cls(**fields | {"limits": Limits(**fields["limits"])})
