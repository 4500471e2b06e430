"""Settings of validation."""

from __future__ import annotations

from enum import StrEnum

from touchline.contracts.settings import Field, Section
from touchline.media.engines.model import ReaderName


class Choice(StrEnum):
    LOCAL = "local"
    MODEL = "model"
    BOTH = "both"


class ValidationSettings(Section):
    engine: Choice = Choice.LOCAL
    """Who looks at videos: the embedded engine, the model of the section `model`, or both; then one may be away."""

    tolerance: int = Field(default=1, ge=0, le=5)
    """By how many minutes the clock on screen may differ from the goal's."""

    reader: ReaderName = ReaderName.RAPIDOCR
    """What the embedded engine reads the clock with."""
