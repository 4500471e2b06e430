"""What the parent asks of a child: one task, its bounds, and the user to become. Travels as one message."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

LONGEST_ORDER = 65536
PAUSE, RESUME = b"p", b"r"  # what the parent says to a monitor: its child is to be stopped, and to go on


@dataclass(frozen=True, slots=True)
class ChildLimits:
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
class TaskOrder:
    task: str
    options: dict[str, Any]
    limits: ChildLimits
    user_id: int | None  # to become, where root started it
    namespaces: bool  # whether it gets its own, inside of the zygote's
    background: bool = False  # whether it stands back behind the other children

    def encode(self) -> bytes:
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, message: bytes) -> TaskOrder:
        fields = json.loads(message)
        return cls(**fields | {"limits": ChildLimits(**fields["limits"])})
