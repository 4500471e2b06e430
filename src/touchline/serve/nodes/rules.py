"""What a node may say about itself. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from urllib.parse import urlsplit
from uuid import UUID

from touchline.kernel.errors import InvalidInput

# A machine that holds copies, and the line that speaks for it.


class NodeStatus(StrEnum):
    PRESENT = "present"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    node_id: str
    base_url: str
    version: str


@dataclass(frozen=True, slots=True)
class StorageReport:
    budget_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class NodeConnection:
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


LONGEST_TEXT = 255
_NODE_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def checked(registration: NodeIdentity) -> NodeIdentity:
    if not _NODE_ID.fullmatch(registration.node_id):
        why = "it has 1 to 63 of a-z, 0-9 and -, and no - at an end"
        raise InvalidInput("not a node's id", field="node_id", why=why)
    if not _is_web_address(registration.base_url):
        raise InvalidInput("not a node's address", field="base_url", why="it starts with http:// or https://")
    if len(registration.version) > LONGEST_TEXT or not registration.version.isprintable():
        raise InvalidInput("not a version", field="version", why=f"it has at most {LONGEST_TEXT} characters")
    return registration


def checked_storage(storage: StorageReport) -> StorageReport:
    if storage.budget_bytes < 0 or storage.used_bytes < 0:
        raise InvalidInput("not a report of storage", field="storage", why="bytes are counted from nothing up")
    return storage


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    harmless = len(text) <= LONGEST_TEXT and text.isprintable()
    return harmless and parts.scheme in ("http", "https") and bool(parts.hostname)
