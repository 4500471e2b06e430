"""Where artifacts lie, as the other roles ask and tell the artifacts role: frozen, warm, and on which nodes.

Invariant: the service object and the gRPC client both implement `StorageClient`, and the same call has the same result,
the same error and a deadline with either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from touchline.kernel import ArtifactHash, Principal


@dataclass(frozen=True, slots=True)
class StorageState:
    artifact_hash: ArtifactHash
    storage_location: str
    local_copies: int
    synced: bool
    revision: int


@dataclass(frozen=True, slots=True)
class StorageNode:
    """None is what the node has not reported yet."""

    node_id: str
    base_url: str
    locality: str
    version: str
    status: str
    trouble: str
    budget_bytes: int | None
    used_bytes: int | None
    free_bytes: int | None
    load: int
    last_seen_at: datetime


class StorageClient(Protocol):
    """Every call but a viewer's is made for a caller; nodes belong to the installation, so operators alone see them."""

    async def freeze(self, caller: Principal, artifact_hash: str) -> StorageState:
        """Off the nodes, once the object store has all of it. What is frozen stays so."""
        ...

    async def warm(self, caller: Principal, artifact_hash: str) -> StorageState:
        """Onto a node. Unavailable when none has room."""
        ...

    async def start_playback(self, playback_id: str) -> None:
        """For anybody who is about to watch it. Warming when they are to wait for that."""
        ...

    async def nodes(self, caller: Principal) -> Sequence[StorageNode]: ...

    async def forget_node(self, caller: Principal, node_id: str, *, lose_last_copies: bool = False) -> int:
        """How many copies it had. Conflict while it is connected, or has what lies nowhere else."""
        ...
