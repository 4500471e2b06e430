"""Settings of signed media addresses."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator

from touchline.contracts.settings import Duration, Field, Section

LONGEST_CACHE = timedelta(minutes=5)


def _long_enough(value: timedelta) -> timedelta:
    if value < timedelta(minutes=1):
        raise ValueError("it must be at least 1m")
    return value


def _short_enough(value: timedelta) -> timedelta:
    if not timedelta(0) <= value <= LONGEST_CACHE:
        raise ValueError("it must be between 0s and 5m")
    return value


class MediaLinkSettings(Section):
    link_lifetime: Annotated[Duration, AfterValidator(_long_enough)] = timedelta(hours=6)
    """How long a signed media address is valid, at least. A player that is paused longer asks for a new one."""

    remember: int = Field(default=1_000, ge=1)
    """How many artifacts' places one gateway remembers."""

    remember_for: Annotated[Duration, AfterValidator(_short_enough)] = LONGEST_CACHE
    """How long a place is remembered, also while the service that knows it is away. Deletion ends it at once."""

    trust_for: Duration = timedelta(seconds=5)
    """How long after the last look at the event log remembered places are used without asking."""
