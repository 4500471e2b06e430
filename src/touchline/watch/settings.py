"""Settings of watch: what all parts share, the feed, aliases, searches, downloads, validation and the browser."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import field_validator

from touchline.contracts.settings import ByteSize, Duration, Field, Port, SecretStr, Section, WebAddress
from touchline.media.engines.model import ReaderName


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


class FixtureSettings(Section):
    staging_interval: Duration = Field(default=timedelta(minutes=15), ge=timedelta(seconds=1), le=timedelta(days=1))
    """How often an upcoming match is polled."""

    activation_lead: Duration = Field(default=timedelta(minutes=30), ge=timedelta(0))
    """How long before kick-off a match is polled closely."""

    postponed_for: Duration = Field(default=timedelta(hours=48), ge=timedelta(minutes=1))
    """How long a match that is not played is polled closely after its kick-off or postponement."""

    completion_polls: int = Field(default=3, ge=1, le=20)
    """How many polls must find nothing left to do before a finished match without a winner is completed."""

    unlisted_for: Duration = Field(default=timedelta(minutes=30), ge=timedelta(0), le=timedelta(days=1))
    """How long a finished match waits for a goal that is in the score but not in the list of events yet."""

    look_ahead_days: int = Field(default=30, ge=1, le=60)
    """How far ahead the next match day is searched when today and tomorrow have none."""


# Settings of the football feed: where it is, how much it may be asked, and which teams and events matter.

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
    """The URL of API-Football v3."""

    key: SecretStr = SecretStr("")
    """The API key of your account."""

    requests_a_day: int = Field(default=7500, ge=1)
    """The maximum number of requests per day (UTC), of all processes together."""

    requests_a_minute: int = Field(default=300, ge=1)
    """The maximum number of requests per minute, of all processes together."""

    timeout: Duration = Field(default=timedelta(seconds=10), ge=timedelta(milliseconds=100), le=timedelta(seconds=25))
    """The timeout of one request."""

    leagues: tuple[int, ...] = (39, 140, 78, 135, 61)
    """The leagues whose clubs are watched in every competition, by the ids of the feed."""

    national_teams: tuple[int, ...] = NATIONS
    """The national teams that are watched, by the ids of the feed."""

    fallback_clubs: tuple[int, ...] = CLUBS
    """The clubs that are watched until the feed has returned the clubs of a league."""

    clubs_for: Duration = Field(default=timedelta(hours=24), ge=timedelta(minutes=1))
    """How long the clubs of a league are cached."""

    event_types: tuple[str, ...] = Field(default=("Goal",), min_length=1)
    """The event types of the feed that are watched."""

    event_details: tuple[str, ...] = Field(default=("Normal Goal", "Penalty", "Own Goal"), min_length=1)
    """The event details of the feed that are watched."""


class AliasSettings(Section):
    wikidata_url: WebAddress = "https://www.wikidata.org"
    """The URL of Wikidata. Empty: Wikidata is not used."""

    wikidata_timeout: Duration = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1), le=timedelta(seconds=30))
    """The timeout of one request to Wikidata."""

    contact: str = "self-hosted"
    """A contact address that is sent with each request to Wikidata, as its user-agent policy asks."""

    words: int = Field(default=5, ge=1, le=10)
    """The maximum number of words for a team; each can be a search of its own."""

    rules_expire: Duration = Field(default=timedelta(hours=6), ge=timedelta(minutes=1))
    """How long fallback words are used that were made by rules because Wikidata, the model or the feed was
    unavailable."""


# Settings of the model that aliases and validation ask.


class ModelSettings(Section):
    url: WebAddress = ""
    """The URL of an OpenAI-compatible model server, with its version, like http://127.0.0.1:8080/v1. Empty: no
    model."""

    key: SecretStr = SecretStr("")
    """The API key of the model server, if it needs one."""

    name: str = "default"
    """The name of the model on that server."""

    timeout: Duration = Field(default=timedelta(seconds=25), ge=timedelta(seconds=1), le=timedelta(seconds=80))
    """The timeout of one request."""


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


MIB = 1024**2
HOST = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
HIGHEST_PORT = 65535


class SecondWay(StrEnum):
    """As yt-dlp names the network's interfaces."""

    GRAPHQL = "graphql"
    LEGACY = "legacy"
    SYNDICATION = "syndication"
    OFF = "off"


class DownloadSettings(Section):
    syndication_url: WebAddress = "https://cdn.syndication.twimg.com"
    """The URL of the syndication API of posts, without `/tweet-result`."""

    second_way: SecondWay = SecondWay.GRAPHQL
    """The API that yt-dlp uses if the syndication API has no data for a post. off: none."""

    second_way_timeout: Duration = Field(default=timedelta(seconds=20), gt=timedelta(0))
    """The timeout of yt-dlp for one post."""

    allow_hosts: tuple[str, ...] = ()
    """Your own hosts that videos may be downloaded from, as host or host:port, although their addresses are private."""

    ports: tuple[int, ...] = (80, 443)
    """The ports of public servers that videos may be downloaded from."""

    redirects: int = Field(default=5, ge=0, le=20)
    """How many redirects are followed. Each is checked like the first URL."""

    smallest_video: ByteSize = Field(default=ByteSize(10_000), ge=0)
    """Smaller files are rejected as incomplete."""

    largest_video: ByteSize = Field(default=ByteSize(200 * MIB), ge=1)
    """The largest file that is downloaded. Larger ones are cancelled as soon as their size is known."""

    connect_timeout: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """How long to wait for a connection."""

    silence_timeout: Duration = Field(default=timedelta(seconds=15), gt=timedelta(0))
    """How long a server may send nothing."""

    total_timeout: Duration = Field(default=timedelta(seconds=60), gt=timedelta(0), le=timedelta(seconds=80))
    """How long the download of a file may take. The whole step, with probing and storing, may take 90 s."""

    least_rate: ByteSize = Field(default=ByteSize(16_000), ge=0)
    """The least average rate of a download over `rate_window`, in bytes per second."""

    rate_window: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """The period for `least_rate`."""

    shortest: Duration = timedelta(seconds=3)
    """Shorter videos are rejected."""

    longest: Duration = timedelta(seconds=60)
    """Longer videos are rejected."""

    least_short_side: int = Field(default=0, ge=0)
    """The least number of pixels on the shorter side. Smaller videos are rejected."""

    least_aspect: float = Field(default=0.0, ge=0)
    """The least ratio of width to height. 1 rejects upright videos."""

    validation_timeout: Duration = Field(default=timedelta(hours=24), ge=timedelta(0))
    """How long a video waits for an engine that can validate it, before it fails."""

    validation_pause: Duration = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1))
    """The first delay before an unavailable engine is tried again. It doubles up to 15 minutes."""

    @field_validator("allow_hosts")
    @classmethod
    def _hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        for host in hosts:
            if not HOST.fullmatch(host):
                raise ValueError(f"{host!r} is not a host or host:port in lower case")
        return hosts

    @field_validator("ports")
    @classmethod
    def _ports(cls, ports: tuple[int, ...]) -> tuple[int, ...]:
        for port in ports:
            if not 0 < port <= HIGHEST_PORT:
                raise ValueError(f"{port} is not a port")
        return ports


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


SECOND = timedelta(seconds=1)


class BrowserSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. Responses are not encrypted: use this machine or a private network."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one."""

    token: SecretStr = SecretStr("")
    """The token that clients of this role must send, since it searches with your session. Default: derived from the
    cluster secret of the installation."""

    network_url: WebAddress = "https://x.com"
    """The URL of the social network. Pages of other origins are not opened."""

    asset_hosts: tuple[str, ...] = ("abs.twimg.com", "api.x.com")
    """Other hosts from which its pages may load scripts and data."""

    query_filter: str = "filter:videos"
    """A filter that is added to every query that does not have it. Empty: none."""

    chromium: Path | None = None
    """The path of Chromium. Default: the one of this machine, else the one that `playwright install chromium`
    downloaded."""

    sandbox: bool = True
    """Use Chromium's own sandbox. It does not work as root: run the role as another user."""

    headed: bool = False
    """Run the browser with a visible window. Some networks treat headless browsers differently."""

    user_agent: str = Field(default="", max_length=400, pattern=r"^[\x20-\x7e]*$")
    """The user agent of the browser, best the one of the browser in which you signed in. Empty: the user agent of a
    Chromium with a window, also when it is headless."""

    session: Path | None = None
    """The folder with your session of the network. Default: `browser` in the data folder."""

    user: str = ""
    """The user to sign in with, if the network has a simple form. Importing cookies is more reliable."""

    password: SecretStr = SecretStr("")
    """The password of that user."""

    at_once: int = Field(default=2, ge=1, le=10)
    """How many searches run at the same time."""

    most_waiting: int = Field(default=20, ge=0, le=1000)
    """How many searches may wait in the queue; further ones are refused."""

    searches_per_window: int = Field(default=45, ge=1)
    """How many searches may be made with your account in `search_window`; further ones are refused."""

    search_window: Duration = Field(default=timedelta(minutes=15), ge=SECOND, le=timedelta(days=1))
    """The period for `searches_per_window`. It continues across restarts."""

    idle: Duration = Field(default=timedelta(minutes=2), ge=timedelta(milliseconds=100))
    """How long the browser stays idle before it ends."""

    start_time: Duration = Field(default=30 * SECOND, ge=SECOND)
    """How long the browser may take to start."""

    page_time: Duration = Field(default=20 * SECOND, ge=timedelta(milliseconds=100))
    """How long a page may take to show posts, or more posts."""

    search_time: Duration = Field(default=90 * SECOND, ge=SECOND)
    """How long a search may take, without its time in the queue."""

    quiet: Duration = Field(default=SECOND, ge=timedelta(milliseconds=20))
    """How long the end of a page must show nothing new before the search stops."""

    most_posts: int = Field(default=400, ge=20, le=10_000)
    """How many posts one search reads."""
