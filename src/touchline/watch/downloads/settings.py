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
    """Where posts are looked up: the part before `/tweet-result`."""

    second_way: SecondWay = SecondWay.GRAPHQL
    """Which interface yt-dlp asks when the syndication has nothing to say about a post; off: none."""

    second_way_timeout: Duration = Field(default=timedelta(seconds=20), gt=timedelta(0))
    """How long the second way may look for a video's address."""

    allow_hosts: tuple[str, ...] = ()
    """Hosts of your own that videos may come from, as host or host:port, although their addresses are private."""

    ports: tuple[int, ...] = (80, 443)
    """The ports of public servers that videos may come from."""

    redirects: int = Field(default=5, ge=0, le=20)
    """How many redirects are followed; each is checked like the first address."""

    smallest_video: ByteSize = Field(default=ByteSize(10_000), ge=0)
    """What has fewer bytes is no video, but a part of one."""

    largest_video: ByteSize = Field(default=ByteSize(200 * MIB), ge=1)
    """The largest file that is fetched. A larger one is refused as soon as it is known to be."""

    connect_timeout: Duration = Field(default=timedelta(seconds=5), gt=timedelta(0))
    """How long to wait for a connection."""

    silence_timeout: Duration = Field(default=timedelta(seconds=15), gt=timedelta(0))
    """How long a server may send nothing."""

    total_timeout: Duration = Field(default=timedelta(seconds=60), gt=timedelta(0), le=timedelta(seconds=80))
    """How long a file may take. The whole step, with looking at the video and storing it, has 90 s."""

    least_rate: ByteSize = Field(default=ByteSize(16_000), ge=0)
    """Bytes a second that a server must send on average over `rate_window`."""

    rate_window: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0))
    """Over which time `least_rate` is measured."""

    shortest: Duration = timedelta(seconds=3)
    """Only longer videos are kept."""

    longest: Duration = timedelta(seconds=60)
    """Longer videos are not kept."""

    least_short_side: int = Field(default=0, ge=0)
    """Pixels of the shorter side that a video must have to be kept."""

    least_aspect: float = Field(default=0.0, ge=0)
    """Width through height that a video must have to be kept: 1 leaves upright ones out."""

    validation_patience: Duration = Field(default=timedelta(hours=24), ge=timedelta(0))
    """How long a video waits for an engine that can look at it. Afterwards it has failed."""

    validation_pause: Duration = Field(default=timedelta(seconds=5), ge=timedelta(seconds=1))
    """How long to wait before an engine that was away is asked again; the pause doubles up to 15 minutes."""

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
