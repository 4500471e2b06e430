"""Settings of the search for videos."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress


class DiscoverySettings(Section):
    browser_url: WebAddress = ""
    """The URL of the browser role. Empty: the one on this machine."""

    browser_token: SecretStr = SecretStr("")
    """The `browser.token` of that role. Default: derived from the cluster secret of the installation."""

    timeout: Duration = Field(default=timedelta(seconds=120), ge=timedelta(seconds=1), le=timedelta(seconds=175))
    """How long one search may take, including its time in the queue."""

    queries: Literal["each", "together"] = "together"
    """Whether all words of a team are combined with OR in one query, or searched one by one. One query saves rate
    limit."""

    most_downloads: int = Field(default=5, ge=1, le=50)
    """The maximum number of videos that one attempt downloads."""

    max_age_minutes: int = Field(default=3, ge=1, le=1440)
    """The maximum age of a post. It is extended to the last successful search."""

    hosts: tuple[str, ...] = ("twitter.com", "x.com")
    """The hosts of posts, with the port if it is not the default one."""

    promotion: tuple[str, ...] = (
        "odds boosted",
        "boosted odds",
        "sign up today",
        "sign up now",
        "free bet",
        "free bets",
        "bet now",
        "promo code",
        "use code",
        "giveaway",
        "sponsored",
    )
    """Phrases that mark a post as an advert. They match whole words, in this order."""

    canary_interval: Duration = Field(default=timedelta(hours=1), ge=timedelta(minutes=1))
    """How often the search is checked with a query that always has results."""

    canary_query: str = Field(default="goal", min_length=1)
    """That query."""

    canary_least: int = Field(default=1, ge=0, le=40)
    """How many videos that query must find. With fewer, the search counts as broken. 0: any response is accepted."""

    canary_age_minutes: int = Field(default=60, ge=1, le=1440)
    """The maximum age of posts that count for that check."""
