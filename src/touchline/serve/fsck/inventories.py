"""What lies on nodes at this moment, asked of each over its own address, in the order of artifacts' hashes.

Invariant: only a node whose whole answer was heard says anything about what it does not have. One that cannot be asked
is named once, and its copies are not judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import httpx

from touchline.kernel import Clock, TenantId, TouchlineError, parse_artifact_hash
from touchline.serve.nodes.rules import HeldCopy
from touchline.serve.playback.tokens import InventoryTokens

from .rules import CopyOnNode
from .store import KnownNode

TOKEN_LASTS = timedelta(minutes=5)
ANSWER_TIME_S = 60.0
LARGEST_ANSWER = 16 * 1024**2
COPIES_AT_ONCE = 5000
OK = 200


@dataclass(slots=True)
class NodeInventories:
    """Of the nodes that can be asked."""

    http: httpx.AsyncClient
    tokens: InventoryTokens
    clock: Clock
    nodes: Sequence[KnownNode] = ()
    failures: dict[str, str] = field(default_factory=dict[str, str])  # why one was not heard to its end, by node

    def behind(self, after: str, limit: int = COPIES_AT_ONCE) -> list[NodeCopies]:
        return [NodeCopies(self, node, after, limit) for node in self.nodes if node.node_id not in self.failures]

    async def page(self, node: KnownNode, after: str, limit: int) -> tuple[list[CopyOnNode], str | None]:
        token = self.tokens.sign(node.node_id, self.clock.now() + TOKEN_LASTS)
        address = f"{node.base_url.rstrip('/')}/inventory/{token}"
        async with self.http.stream("GET", address, params={"after": after, "limit": limit}) as answer:
            if answer.status_code != OK:
                raise ValueError(f"it responded with status {answer.status_code}")
            content = b""
            async for chunk in answer.aiter_bytes():
                content += chunk
                if len(content) > LARGEST_ANSWER:
                    raise ValueError("its response is too long")
        document = json.loads(content)
        copies = [_copy(node.node_id, each) for each in document["copies"]]
        next_after = document["next_after"]
        hashes = [after, *(one.copy.artifact_hash for one in copies), *([next_after] if next_after is not None else [])]
        if hashes != sorted(hashes) or next_after == after:
            raise ValueError("its response is not sorted")
        return copies, next_after


@dataclass(slots=True)
class NodeCopies:
    """The copies of one node, a page at a time."""

    inventories: NodeInventories
    node: KnownNode
    _after: str | None
    _limit: int
    _waiting: list[CopyOnNode] = field(default_factory=list[CopyOnNode])

    @property
    def was_heard(self) -> bool:
        return self.node.node_id not in self.inventories.failures

    async def through(self, until: str) -> list[CopyOnNode]:
        """Of the artifacts up to and with this one; nothing of a node that cannot be asked."""
        found: list[CopyOnNode] = []
        while self.was_heard:
            found += [one for one in self._waiting if one.copy.artifact_hash <= until]
            self._waiting = [one for one in self._waiting if one.copy.artifact_hash > until]
            if self._waiting or self._after is None or self._after >= until:
                return found
            await self._next_page(self._after)
        return []

    async def _next_page(self, after: str) -> None:
        try:
            self._waiting, self._after = await self.inventories.page(self.node, after, self._limit)
        except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError, TouchlineError) as error:
            why = str(error) or type(error).__name__
            self.inventories.failures[self.node.node_id] = f"it cannot be asked for its copies: {why}"


def _copy(node_id: str, found: Mapping[str, Any]) -> CopyOnNode:
    """Of a node that may be another version than this: what is not as it should be is an error."""
    copy = HeldCopy(
        tenant_id=TenantId(UUID(found["tenant_id"])),
        artifact_hash=parse_artifact_hash(found["artifact_hash"]),
        manifest_key=str(found["manifest_key"]),
        size_bytes=int(found["size_bytes"]),
        segment_count=int(found["segment_count"]),
        segment_bytes=int(found["segment_bytes"]),
        cached_at=datetime.fromisoformat(found["cached_at"]),
    )
    return CopyOnNode(node_id, copy, str(found["damage"]))
