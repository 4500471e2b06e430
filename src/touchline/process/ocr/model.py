"""What is to be read, how far a reading is, and what was read."""

from __future__ import annotations

from dataclasses import dataclass

from touchline.process.segments.model import Detection


@dataclass(frozen=True, slots=True)
class Seen:
    """A line of text in a picture, and the picture with which it began to stand there."""

    detection: Detection
    since_ms: int


@dataclass(frozen=True, slots=True)
class Run:
    """A text that stands unchanged over pictures that follow each other."""

    first_ms: int
    last_ms: int
    detection: Detection


@dataclass(frozen=True, slots=True)
class Reading:
    """How far it is. Its revision changes whenever there is something else to make segments of."""

    sampling: int
    read_until_ms: int
    is_complete: bool
    revision: int
    paths: list[str] | None  # those that are read; None: all


@dataclass(frozen=True, slots=True)
class Request:
    """Which pictures are to be read, and a digest of how. The same request goes on, another begins anew."""

    digest: str
    sampling: int
    paths: list[str] | None


@dataclass(frozen=True, slots=True)
class Chunk:
    start_ms: int
    until_ms: int
    runs: tuple[Run, ...]
