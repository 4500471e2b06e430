"""What is known of a video on its way from a post into the object store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from touchline.watch.model import FoundRef, GoalRef


@dataclass(frozen=True, slots=True)
class MediaFile:
    """Where a found video's file is, and how long the network says it is."""

    url: str
    duration_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Of the file, by our own look at it."""

    md5: str
    size_bytes: int
    duration_ms: int
    width: int  # as seen
    height: int
    bit_rate: int


@dataclass(frozen=True, slots=True)
class Filters:
    shortest_ms: int
    longest_ms: int
    least_short_side: int
    least_aspect: float


@dataclass(frozen=True, slots=True)
class Ending:
    """What became of a video that is not there."""

    state: Literal["rejected", "failed"]
    why: str
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A found video as its row has it."""

    goal: GoalRef  # the living one
    video: FoundRef
    url: str
    state: str
    why: str | None
    tries: int  # how often it was chosen
    last_try: str | None
    incoming_key: str | None
    facts: Facts | None
    verified: bool | None
    fingerprint: str | None

    @property
    def has_file(self) -> bool:
        return self.state == "downloaded" and self.incoming_key is not None and self.facts is not None
