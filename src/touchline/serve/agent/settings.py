"""Settings of a node."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from touchline.contracts.settings import ByteSize, Duration, Field, Port, Section, WebAddress

SECOND = timedelta(seconds=1)


class NodeSettings(Section):
    id: str = ""
    """What the node is called, of a-z, 0-9 and -; no two nodes share a name. Without it: the host's name."""

    folder: Path | None = None
    """Where its copies lie; nothing else may write there. Without it: `node` in the data folder."""

    host: str = "127.0.0.1"
    """The address on which it sends media."""

    port: Port = 0
    """The port on which it sends media, and tells of its health; 0 chooses a free one. `up` remembers its node's."""

    base_url: WebAddress = ""
    """How viewers reach it, like `https://node-1.example.org`. Without it: the host and port, by http."""

    hosts: tuple[str, ...] = ()
    """Other names under which requests may come. Addresses, `localhost` and the name in `base_url` are known."""

    locality: str = ""
    """Where it stands, like `berlin`: viewers who are sent to a locality get a node of the same one if there is one."""

    budget: ByteSize = Field(default=ByteSize(0), ge=0)
    """How much it may hold. Without it: a share of its disk."""

    disk_share: float = Field(default=0.5, gt=0, le=1)
    """Without a budget: how much of the disk's free space, and of what it holds already, it may use."""

    transfers: int = Field(default=2, ge=1, le=64)
    """How many artifacts it fetches or freezes at once."""

    files_at_once: int = Field(default=4, ge=1, le=64)
    """How many files of one artifact it fetches or uploads at once."""

    in_use_for: Duration = Field(default=30 * SECOND, ge=timedelta(0))
    """How long after the last request for it a copy still counts as being watched, so that it is not evicted."""

    retry_time: Duration = Field(default=120 * SECOND, ge=timedelta(0))
    """How long it tries again to get a file that the object store does not give out."""

    max_connections: int = Field(default=4000, ge=20)
    """How many connections are open at once; fewer where the system allows fewer files."""
