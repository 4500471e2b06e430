"""Settings of the ports on which a node takes live streams."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import Duration, Field, Port, Section

SECOND = timedelta(seconds=1)


class PublishSettings(Section):
    host: str = "127.0.0.1"
    """The address on which the node takes live streams; 0.0.0.0 takes them from everywhere."""

    rtmp_port: Port = 0
    """The port for publishers by RTMP; 0 chooses 1935 if it is free, else another one, which `touchline up`
    remembers."""

    srt_port: Port = 0
    """The UDP port for publishers by SRT; 0 chooses 8890 if it is free, else another one, which `touchline up`
    remembers."""

    srt_library: Path | None = None
    """The file of libsrt, like `/opt/srt/libsrt.so.1.5`. Default: the one that the system has installed."""

    srt_latency: Duration = Field(default=timedelta(milliseconds=200), ge=timedelta(milliseconds=20), le=10 * SECOND)
    """How long SRT waits for a lost packet to come again. The larger of this and the publisher's own counts."""

    external_host: str = "127.0.0.1"
    """The address on which a media server in front is answered; whoever reaches it must be trusted."""

    external_port: Port = 0
    """The port for a media server in front; without one, none is taken there."""

    max_connections: int = Field(default=500, ge=1)
    """The maximum number of open connections for each protocol, publishing or not."""

    max_pending: int = Field(default=100, ge=1)
    """How many connections may be open that do not publish yet. One more closes the oldest of them."""

    max_pending_per_address: int = Field(default=20, ge=1)
    """The same for one address."""

    handshake_time: Duration = Field(default=10 * SECOND, ge=SECOND)
    """How long a publisher may take from its connection until it says which key it publishes."""

    idle_time: Duration = Field(default=15 * SECOND, ge=SECOND)
    """A publisher that sends nothing for this long is disconnected."""
