"""What goes to the engines and what comes back. Shared with the engine process: it imports nothing heavy.

Invariant: boxes are whole pixels of the picture that was sent, from its left upper corner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

CHANNELS = 3


class ReaderName(StrEnum):
    RAPIDOCR = "rapidocr"
    TESSERACT = "tesseract"


# Those that RapidOCR's model has letters for, by the names that Tesseract gives them.
RAPIDOCR_LANGUAGES = frozenset((
    "afr", "aze", "bos", "cat", "ces", "chi_sim", "chi_tra", "cym", "dan", "deu", "eng", "est", "eus", "fil", "fin",
    "fra", "gle", "glg", "hrv", "hun", "ind", "isl", "ita", "jpn", "lat", "lav", "lit", "ltz", "mlt", "mri", "msa",
    "nld", "nor", "oci", "pol", "por", "que", "ron", "slk", "slv", "spa", "sqi", "srp_latn", "swa", "swe", "tur",
    "uzb", "vie",
))  # fmt: skip


def reader_for(reader: ReaderName, languages: Iterable[str]) -> ReaderName:
    """Tesseract for scripts that RapidOCR's model does not know: it would read Greek as Latin letters."""
    return reader if RAPIDOCR_LANGUAGES.issuperset(languages) else ReaderName.TESSERACT


@dataclass(frozen=True, slots=True)
class EngineOrder:
    """What an engine process is told first."""

    reader: ReaderName | None
    languages: tuple[str, ...]
    threads: int
    memory_bytes: int
    most_bytes: int  # of one picture
    picture_cpu_s: int  # of all threads together
    user_id: int  # to become, where root started it


@dataclass(frozen=True, slots=True)
class Picture:
    """Decoded pixels: rows from the top, three bytes each: blue, green, red."""

    width: int
    height: int
    pixels: bytes = field(repr=False)
    at_ms: int = 0


@dataclass(frozen=True, slots=True)
class Box:
    x: int
    y: int
    width: int
    height: int

    @property
    def pixels(self) -> int:
        return self.width * self.height

    def shared(self, other: Box) -> int:
        """The pixels of both."""
        width = min(self.x + self.width, other.x + other.width) - max(self.x, other.x)
        height = min(self.y + self.height, other.y + other.height) - max(self.y, other.y)
        return max(0, width) * max(0, height)


@dataclass(frozen=True, slots=True)
class TextRegion:
    """One line of text. `since_ms`: the first picture of its stream in which it stood there."""

    text: str
    box: Box
    confidence: float  # 0 to 1
    language: str | None  # where the reader knows it
    since_ms: int


@dataclass(frozen=True, slots=True)
class FrameVerdict:
    """What a picture shows, as probabilities."""

    football: float
    filmed_screen: float


@dataclass(frozen=True, slots=True)
class SeenText:
    """A line of text for as long as it stood in one place."""

    text: str
    box: Box
    confidence: float
    language: str | None
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class TextReading:
    """All text of a file."""

    pictures: int
    texts: tuple[SeenText, ...]


# What is asked of whoever reads text.


class TextReader(Protocol):
    async def read(self, picture: Picture, stream: str = "") -> tuple[TextRegion, ...]:
        """The text of one picture. Pictures of one video, in order, at even steps and under one name, cost only what
        changed."""
        ...
