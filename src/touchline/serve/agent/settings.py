"""Settings of a node."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section, WebAddress

SECOND = timedelta(seconds=1)


class NodeSettings(Section):
    id: str = ""
    """The name of the node: a-z, 0-9 and -, different for each node. Default: the host name."""

    folder: Path | None = None
    """The folder for its copies; nothing else may write there. Default: `node` in the data folder."""

    host: str = "127.0.0.1"
    """The address on which it serves media."""

    port: Port = 0
    """The port on which it serves media and its health; 0 chooses a free one, which `touchline up` remembers."""

    base_url: WebAddress = ""
    """The URL by which viewers reach it, like `https://node-1.example.org`. Default: http with the host and port."""

    hosts: tuple[str, ...] = ()
    """Other host names that requests may use. IP addresses, `localhost` and the name in `base_url` always work."""

    locality: str = ""
    """The location of the node, like `berlin`, as the list of nodes shows it."""

    budget: ByteSize = Field(default=ByteSize(0), ge=0)
    """The most space that copies may use. Default: a share of the disk."""

    disk_share: float = Field(default=0.5, gt=0, le=1)
    """Without a budget: the share of the free disk space, and of its own copies, that it may use."""

    transfers: int = Field(default=2, ge=1, le=64)
    """How many artifacts it fetches or freezes at once."""

    files_at_once: int = Field(default=4, ge=1, le=64)
    """How many files of one artifact it fetches or uploads at once."""

    in_use_for: Duration = Field(default=30 * SECOND, ge=timedelta(0))
    """How long after the last request for it a copy still counts as being watched, so that it is not evicted."""

    retry_time: Duration = Field(default=120 * SECOND, ge=timedelta(0))
    """How long it retries to fetch a file from the object store."""

    max_connections: int = Field(default=4000, ge=20)
    """The maximum number of open connections; fewer if the system allows fewer open files."""

    recording_space: ByteSize = Field(default=ByteSize(20 * 1024**3), ge=0)
    """The most disk space that recordings may use while they wait for the object store. One that needs more ends."""

    recording_silence: Duration = Field(default=60 * SECOND, ge=SECOND)
    """How long a recording waits for a publisher that is gone before it ends."""
