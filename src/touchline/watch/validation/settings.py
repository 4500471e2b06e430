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
    """What validates videos: the embedded engine, the model of the section `model`, or both. With both, one may be
    unavailable."""

    tolerance: int = Field(default=1, ge=0, le=5)
    """By how many minutes the clock in the video may differ from the minute of the goal."""

    reader: ReaderName = ReaderName.RAPIDOCR
    """The OCR reader that reads the clock."""
