"""What is in an index, and what is found in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from touchline.media.fingerprint.model import Comparison, Style


@dataclass(frozen=True, slots=True)
class IndexMatch:
    """A video of the index that shows what the query shows, which is the first of the comparison."""

    video_id: str
    comparison: Comparison


@dataclass(frozen=True)
class SegmentEntry:
    """One immutable file of the index, and which of its videos were removed since."""

    name: str
    videos: int
    samples: int
    removed: tuple[int, ...] = ()  # by their place in the file, in order

    @cached_property
    def is_removed(self) -> frozenset[int]:
        return frozenset(self.removed)

    @property
    def live(self) -> int:
        return self.videos - len(self.removed)


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """All of an index at one moment."""

    generation: int = 0
    style: Style | None = None  # of its fingerprints; none before the first
    segments: tuple[SegmentEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexInfo:
    generation: int
    style: Style | None
    videos: int
    samples: int  # with those of removed videos that still take room
    segments: int
    size_bytes: int
