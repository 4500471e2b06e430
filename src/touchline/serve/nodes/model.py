"""A machine that holds copies, and the line that speaks for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class NodeStatus(StrEnum):
    PRESENT = "present"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Registration:
    node_id: str
    base_url: str
    version: str


@dataclass(frozen=True, slots=True)
class Storage:
    budget_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class Line:
    """One stream of one node. A newer one of the same node takes its place."""

    node_id: str
    connection_id: UUID


@dataclass(frozen=True, slots=True)
class Node:
    node_id: str
    base_url: str
    version: str
    status: NodeStatus
    budget_bytes: int | None
    used_bytes: int | None
    registered_at: datetime
    last_seen_at: datetime
    revision: int
