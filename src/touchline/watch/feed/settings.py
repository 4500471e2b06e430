"""Settings of the football feed: where it is, how much it may be asked, and which teams and events matter."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import Duration, Field, SecretStr, Section, WebAddress

# The clubs of the five leagues as they were in 2025/26: only for when the feed has never told them.
CLUBS = (
    *(33, 34, 35, 36, 39, 40, 42, 44, 45, 47, 48, 49, 50, 51, 52, 55, 63, 65, 66, 746),
    *(529, 530, 531, 532, 533, 536, 538, 539, 540, 541, 542, 543, 546, 547, 548, 718, 727, 728, 797, 798),
    *(157, 160, 161, 162, 163, 164, 165, 167, 168, 169, 170, 172, 173, 175, 180, 182, 186, 192),
    *(487, 488, 489, 490, 492, 494, 495, 496, 497, 499, 500, 502, 503, 504, 505, 520, 523, 801, 867, 895),
    *(77, 79, 80, 81, 83, 84, 85, 91, 94, 95, 96, 97, 106, 108, 111, 112, 114, 116),
)
NATIONS = (1, 2, 3, 6, 7, 9, 10, 15, 21, 24, 25, 26, 27, 31, 768, 1118, 1500)


class FeedSettings(Section):
    url: WebAddress = "https://v3.football.api-sports.io"
    """Where API-Football v3 answers."""

    key: SecretStr = SecretStr("")
    """The key of your account there."""

    requests_a_day: int = Field(default=7500, ge=1)
    """How often the feed may be asked in a day of UTC, by all processes together."""

    requests_a_minute: int = Field(default=300, ge=1)
    """How often the feed may be asked in a minute, by all processes together."""

    timeout: Duration = Field(default=timedelta(seconds=10), ge=timedelta(milliseconds=100), le=timedelta(seconds=25))
    """How long one answer of the feed is waited for."""

    leagues: tuple[int, ...] = (39, 140, 78, 135, 61)
    """The leagues whose clubs are followed, in every competition, by the feed's ids."""

    national_teams: tuple[int, ...] = NATIONS
    """The national teams that are followed, by the feed's ids."""

    fallback_clubs: tuple[int, ...] = CLUBS
    """The clubs that are followed for as long as the feed has not told those of a league."""

    clubs_for: Duration = Field(default=timedelta(hours=24), ge=timedelta(minutes=1))
    """How long the clubs of a league are taken as the feed told them."""

    event_types: tuple[str, ...] = Field(default=("Goal",), min_length=1)
    """The types of the feed's events that are followed."""

    event_details: tuple[str, ...] = Field(default=("Normal Goal", "Penalty", "Own Goal"), min_length=1)
    """The details of the feed's events that are followed."""
