"""Settings of the internal RPC."""

from __future__ import annotations

from datetime import timedelta

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section


class RpcSettings(Section):
    host: str = "127.0.0.1"
    """The address to listen on. Calls are signed but not encrypted: beyond loopback use a private network."""

    port: Port = 0
    """The port to listen on; 0 chooses a free one."""

    deadline: Duration = timedelta(seconds=10)
    """How long a call may take when the caller sets no other deadline."""

    longest_deadline: Duration = timedelta(minutes=5)
    """The longest that a server works on one call, whatever deadline the caller sets."""

    clock_tolerance: Duration = timedelta(seconds=30)
    """How far the clocks of two machines may differ: calls that are older, or from the future, are refused."""

    remembered_calls: int = Field(default=100_000, ge=1)
    """How many calls a server remembers to refuse replays. Calls as old as a forgotten one are refused as well."""

    max_message: ByteSize = ByteSize(4 * 1024**2)
    """The largest message that is sent or read."""

    concurrent_calls: int = Field(default=256, ge=1)
    """How many calls a server works on at once, the streams of nodes included."""

    keepalive: Duration = timedelta(seconds=30)
    """How often an idle connection is checked."""

    keepalive_timeout: Duration = timedelta(seconds=10)
    """How long the other side may take to answer such a check."""

    stop_grace: Duration = timedelta(seconds=2)
    """How long running calls may continue when the server stops."""
