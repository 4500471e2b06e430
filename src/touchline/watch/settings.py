"""Settings that all parts of watch share."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, Port, Section


class WatchSettings(Section):
    enabled: bool = False
    """Whether `touchline up` watches football. It needs a key of the feed, and a session of the social network."""

    host: str = "127.0.0.1"
    """The address on which health and metrics of the role answer."""

    port: Port = 0
    """The port on which they answer; 0 takes the one that `touchline up` chose, if any."""

    heavy_at_once: int = Field(default=2, ge=1, le=64)
    """How many videos one watch process fetches, looks at or compares at the same time."""

    tenant: str = ""
    """The slug of the tenant that matches and their videos belong to. Empty: the oldest one."""

    monitor_interval: Duration = Field(default=timedelta(seconds=30), ge=timedelta(seconds=1))
    """How often matches are looked at."""

    ingest_at: str = Field(default="00:05", pattern=r"^([01]\d|2[0-3]):[0-5]\d$")
    """When the matches of the day are fetched, in UTC."""

    polls_to_trust: int = Field(default=3, ge=1, le=20)
    """How many looks in a row must see a goal before it is searched for, and must miss it before it is dropped."""

    search_attempts: int = Field(default=10, ge=1, le=50)
    """How often a goal is searched for."""

    search_interval: Duration = Field(default=timedelta(seconds=60), ge=timedelta(seconds=1))
    """From the beginning of one search of a goal to the beginning of the next."""

    search_rest: Duration = Field(default=timedelta(seconds=10), ge=timedelta(0))
    """How long a goal is left alone at least between two searches."""

    unidentified_after: Duration = Field(default=timedelta(hours=2), gt=timedelta(0))
    """When a goal whose scorer nobody names, or that never stays in the feed, ends without a search."""

    unsearched_after: Duration = Field(default=timedelta(hours=1), gt=timedelta(0))
    """When a goal whose search could not be started ends without one."""

    lost_after: Duration = Field(default=timedelta(hours=26), gt=timedelta(0))
    """When a goal whose search has begun ends though its workflow never said so. Longer than a video may wait to be
    validated."""

    retention: Duration = Field(default=timedelta(days=14), ge=timedelta(days=1))
    """How long matches and the videos of their goals are kept."""
