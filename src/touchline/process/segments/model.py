"""What was read, what it became, and what it speaks of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from touchline.media.engines.model import Box


@dataclass(frozen=True, slots=True)
class Detection:
    """One line of text in one picture."""

    text: str
    box: Box
    confidence: float  # 0 to 1
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture that was read. What it shows stays until the next one: pictures are left out only while nothing
    changes."""

    at_ms: int
    detections: Sequence[Detection] = ()


@dataclass(frozen=True, slots=True)
class Segment:
    """One text in one place, from the first picture that shows it to the first that does not."""

    text: str  # as it was read best
    box: Box
    confidence: float
    language: str | None
    start_ms: int
    end_ms: int
    pictures: int  # in which it was read


class EntityType(StrEnum):
    MENTION = "mention"
    HASHTAG = "hashtag"
    URL = "url"
    EMOJI = "emoji"
    NUMBER = "number"


class NumberKind(StrEnum):
    PLAIN = "plain"
    CURRENCY = "currency"
    UNIT = "unit"
    SCORE = "score"
    CLOCK = "clock"


@dataclass(frozen=True, slots=True)
class Entity:
    type: EntityType
    value: str  # as it stands in the text
    normalized_value: str
    start: int  # in the text, by characters
    kind: NumberKind | None = None  # numbers only
