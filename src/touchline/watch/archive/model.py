"""Videos as the archive compares them, and what comparing them decides.

Invariant: only plain values; nothing here knows where bytes or rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import TypeAlias

from touchline.watch.model import FoundRef, GoalRef


class Standing(Enum):
    KEPT = auto()  # stands in the archive
    PAST = auto()  # was taken in before; another one may stand for it
    FRESH = auto()  # waits to be archived, its bytes are at hand


@dataclass(frozen=True, slots=True)
class Copy:
    """One video, as far as it can be the same as another one."""

    name: str
    standing: Standing
    md5: str
    verified: bool
    size_bytes: int
    duration_ms: int
    fingerprint: str
    kept_as: str | None = None  # of what is not fresh: the artifact that stands for it
    popularity: int = 0  # how often it was found: of a kept one with all that it stands for


@dataclass(frozen=True, slots=True)
class Cluster:
    """Copies that show the same, and the best of those whose bytes are there."""

    best: Copy | None  # none: its content was dropped before, and does not come back
    fresh: tuple[Copy, ...]
    replaced: tuple[str, ...]  # artifacts that gave way to the best
    popularity: int
    verified: bool


Alike: TypeAlias = Callable[[str, str], bool]  # whether two fingerprints show the same


@dataclass(frozen=True, slots=True)
class FoundVideo:
    """A found video that waits to be archived."""

    ref: FoundRef
    url: str
    incoming_key: str
    md5: str
    size_bytes: int
    duration_ms: int
    width: int
    height: int
    bit_rate: int | None
    verified: bool | None  # none: nobody has looked at it
    clock: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What a goal's videos are called, and how long they are kept."""

    goal: GoalRef
    kick_off: datetime
    home_name: str
    away_name: str
    home_score: int
    away_score: int
    player_name: str | None
    minute: int
    extra: int | None


@dataclass(frozen=True, slots=True)
class Video:
    """A row of the archive."""

    artifact_hash: str
    goal: GoalRef
    object_key: str
    md5: str
    size_bytes: int
    pinned: bool
    revision: int
