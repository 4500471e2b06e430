"""What is said about a video: by an engine of one picture, and by all of them of the whole.

Invariant: there is no way to say "no" for an engine that did not answer: it has said nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of the video: a JPEG that the sandbox made."""

    path: Path
    at_ms: int
    video: str = ""  # pictures of one have the same name here, and no other has it


@dataclass(frozen=True, slots=True)
class Sight:
    """What an engine sees on a picture. The clock is as it reads it."""

    football: bool
    screen: bool
    clock: str | None


@dataclass(frozen=True, slots=True)
class Opinion:
    engine: str
    at_ms: int
    sight: Sight


class Sees(Protocol):
    """The port of all engines."""

    @property
    def name(self) -> str: ...

    async def look(self, frame: Frame) -> Sight:
        """Raises Unavailable when it cannot tell."""
        ...


class Standing(StrEnum):
    """The clock of a video beside the goal's minute."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"  # it shows none, or cannot be trusted
    DOUBTFUL = "doubtful"  # another minute, unless the clock began at zero after a break
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Verdict:
    football: bool
    screen: bool
    clock: str | None  # as it was read
    verified: bool
    rejected: str | None  # why: a code, with details behind a colon
    engines: dict[str, Any]  # what each of them said
