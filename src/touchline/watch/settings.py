"""Settings that all parts of watch share."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, Port, Section


class WatchSettings(Section):
    enabled: bool = False
    """Whether `touchline up` watches football. It needs an API key of the feed and a session of the social network."""

    host: str = "127.0.0.1"
    """The address on which health and metrics are served."""

    port: Port = 0
    """The port on which health and metrics are served; 0: the one that `touchline up` chose, if any."""

    heavy_at_once: int = Field(default=2, ge=1, le=64)
    """How many videos one watch process downloads, validates or compares at the same time."""

    tenant: str = ""
    """The slug of the tenant that owns the matches and their videos. Empty: the oldest tenant."""

    monitor_interval: Duration = Field(default=timedelta(seconds=30), ge=timedelta(seconds=1))
    """How often matches are polled."""

    ingest_at: str = Field(default="00:05", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    """The time of day at which matches are fetched, in UTC."""

    polls_to_trust: int = Field(default=3, ge=1, le=20)
    """How many polls in a row must show a goal before it is searched for, and must miss it before it is dropped."""

    search_attempts: int = Field(default=10, ge=1, le=50)
    """How many times a goal is searched for."""

    search_interval: Duration = Field(default=timedelta(seconds=60), ge=timedelta(seconds=1))
    """The interval between the starts of two searches of a goal."""

    search_rest: Duration = Field(default=timedelta(seconds=10), ge=timedelta(0))
    """The minimum pause between two searches of a goal."""

    unidentified_after: Duration = Field(default=timedelta(hours=2), gt=timedelta(0))
    """How long a goal without a scorer, or one that does not stay in the feed, is kept open without a search."""

    unsearched_after: Duration = Field(default=timedelta(hours=1), gt=timedelta(0))
    """How long a goal whose search cannot be started is kept open."""

    lost_after: Duration = Field(default=timedelta(hours=26), gt=timedelta(0))
    """How long a goal whose search was started is kept open if its workflow never reports the end. Longer than a video
    may wait for validation."""

    retention: Duration = Field(default=timedelta(days=14), ge=timedelta(days=1))
    """How long matches and the videos of their goals are kept."""
