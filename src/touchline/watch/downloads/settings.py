"""Settings of downloads: whom we ask, how long and how much we take, and which videos are worth keeping."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum

from pydantic import field_validator

from touchline.contracts.settings import ByteSize, Duration, Field, Section, WebAddress

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

    validation_patience: Duration = Field(default=timedelta(hours=24), ge=timedelta(0))
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
