"""Settings of the search for videos."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress


class DiscoverySettings(Section):
    browser_url: WebAddress = ""
    """Where the browser role answers. Empty: the one of this machine."""

    browser_token: SecretStr = SecretStr("")
    """The `browser.token` of that role. Without it: made from the installation's cluster secret."""

    timeout: Duration = Field(default=timedelta(seconds=120), ge=timedelta(seconds=1), le=timedelta(seconds=175))
    """How long one search may take, with waiting for its turn."""

    queries: Literal["each", "together"] = "together"
    """One query for all words of a team, with OR between them, or one for each: accounts may search only so often."""

    most_downloads: int = Field(default=5, ge=1, le=50)
    """How many videos one attempt downloads at most."""

    max_age_minutes: int = Field(default=3, ge=1, le=1440)
    """How old a post may be. It grows to cover the time since the last search that worked."""

    hosts: tuple[str, ...] = ("twitter.com", "x.com")
    """Hosts whose links to posts are understood, with their port where it is not the usual one."""

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
    """What marks a post as an advert: these words next to each other, never a part of a word or of a name."""

    canary_interval: Duration = Field(default=timedelta(hours=1), ge=timedelta(minutes=1))
    """How often a query that always finds something shows whether the search works."""

    canary_query: str = Field(default="goal", min_length=1)
    """That query."""

    canary_least: int = Field(default=1, ge=0, le=40)
    """How many videos it must find. Fewer mean that the search does not work, although it answers; 0: any answer will
    do."""

    canary_age_minutes: int = Field(default=60, ge=1, le=1440)
    """How old the posts may be that it finds."""
