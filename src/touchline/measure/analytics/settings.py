"""Settings of answers about sessions: how much time one covers, how much an export holds, when days are summed."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, Section


class AnalyticsSettings(Section):
    default_range: Duration = Field(default=timedelta(days=7), ge=timedelta(minutes=1))
    """How far back an answer goes when nobody says from when."""

    longest_range: Duration = Field(default=timedelta(days=400), ge=timedelta(minutes=1))
    """The longest time that one answer may cover."""

    largest_export: int = Field(default=1_000_000, ge=1)
    """How many sessions one export may hold."""

    sum_after: Duration = Field(default=timedelta(minutes=1), ge=timedelta())
    """How long nothing must have been written under a day before its sessions are summed for long answers."""
