"""Nodes: what they say about themselves and their copies, which one gets a copy, what they are asked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from touchline.kernel import ArtifactHash, Conflict, InvalidInput, TenantId

# A machine that holds copies, and the line that speaks for it.


class NodeStatus(StrEnum):
    PRESENT = "present"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    node_id: str
    base_url: str
    version: str
    instance_id: UUID  # of its folder
    locality: str = ""
    publish_urls: tuple[str, ...] = ()  # where encoders publish to


@dataclass(frozen=True, slots=True)
class StorageReport:
    budget_bytes: int
    used_bytes: int
    free_bytes: int = 0
    load: int = 0
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class NodeConnection:
    """One stream of one node. A newer one of the same node takes its place."""

    node_id: str
    connection_id: UUID


@dataclass(frozen=True, slots=True)
class Node:
    node_id: str
    instance_id: UUID
    base_url: str
    version: str
    locality: str
    status: NodeStatus
    trouble: str | None
    budget_bytes: int | None
    used_bytes: int | None
    free_bytes: int | None
    load: int
    inventory_at: datetime | None
    inventory_refusal: str | None
    registered_at: datetime
    last_seen_at: datetime
    revision: int
    publish_urls: tuple[str, ...] = ()


LONGEST_TEXT = 255
LONGEST_LOCALITY = 63
MOST_URLS = 8
_NODE_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def checked(registration: NodeIdentity) -> NodeIdentity:
    if not _NODE_ID.fullmatch(registration.node_id):
        why = "use 1 to 63 characters of a-z, 0-9 and -, without a - at the start or end"
        raise InvalidInput("not a valid node id", field="node_id", why=why)
    if not _is_web_address(registration.base_url):
        raise InvalidInput("not a valid node address", field="base_url", why="it must start with http:// or https://")
    if len(registration.version) > LONGEST_TEXT or not registration.version.isprintable():
        raise InvalidInput("not a valid version", field="version", why=f"use at most {LONGEST_TEXT} characters")
    if len(registration.locality) > LONGEST_LOCALITY or not registration.locality.isprintable():
        why = f"use at most {LONGEST_LOCALITY} characters"
        raise InvalidInput("not a valid locality", field="locality", why=why)
    if len(registration.publish_urls) > MOST_URLS or not all(map(_is_publish_url, registration.publish_urls)):
        raise InvalidInput("not a valid address for publishers", field="publish_urls")
    return registration


def require_same_folder(known: Node, registration: NodeIdentity, copies: int, silent_since: datetime) -> None:
    """A node comes back with the folder that it had. `silent_since`: who was heard after that is alive."""
    if known.instance_id == registration.instance_id:
        return
    if known.last_seen_at > silent_since:
        why = f"{known.node_id} is connected from {known.base_url}, and has another folder"
        raise Conflict("another node uses this id", why=why, hint="Give each node a `node.id` of its own.")
    if copies:
        why = f"{known.node_id} has {copies} copies on record, and this folder was made for another node"
        hint = f"Mount its disk again; or, if that is lost, run `touchline nodes forget {known.node_id}`."
        raise Conflict("this is not the folder that the node had", why=why, hint=hint)


def checked_storage(storage: StorageReport) -> StorageReport:
    if min(storage.budget_bytes, storage.used_bytes, storage.free_bytes, storage.load) < 0:
        raise InvalidInput(
            "not a valid storage report", field="storage", why="the number of bytes must not be negative"
        )
    return storage


def _is_publish_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return len(text) <= LONGEST_TEXT and text.isprintable() and parts.scheme in ("rtmp", "srt") and bool(parts.hostname)


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    harmless = len(text) <= LONGEST_TEXT and text.isprintable()
    return harmless and parts.scheme in ("http", "https") and bool(parts.hostname)


# Which node gets a copy.

COMFORTABLE_LOAD = 100  # requests at once; below that one more makes no difference to a viewer


def room_bytes(node: Node) -> int:
    """What fits on it: its budget and its disk both count. A node that has not reported has none."""
    if node.budget_bytes is None or node.used_bytes is None or node.free_bytes is None:
        return 0
    return min(node.budget_bytes - node.used_bytes, node.free_bytes)


def is_usable(node: Node) -> bool:
    return node.status is NodeStatus.PRESENT and not node.trouble


def choose(nodes: Sequence[Node], wanted_bytes: int, locality: str = "") -> Node | None:
    """A healthy node that has room: near before far where it is known what is near, one at ease before a busy one, then
    the one with most room."""
    fitting = [node for node in nodes if is_usable(node) and room_bytes(node) >= wanted_bytes]
    return min(
        fitting,
        key=lambda node: (
            bool(locality) and node.locality != locality,
            node.load // COMFORTABLE_LOAD,
            -room_bytes(node),
            node.node_id,
        ),
        default=None,
    )


# What nodes are asked to do.


class CommandKind(StrEnum):
    CLIP_PULL = "clip_pull"
    DVR_START = "dvr_start"
    DVR_STOP = "dvr_stop"
    FREEZE = "freeze"
    DEFROST = "defrost"
    DELETE = "delete"


class CommandOutcome(StrEnum):
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Command:
    """Its id is the attempt that the work belongs to."""

    id: UUID
    node_id: str
    kind: CommandKind
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    payload: Mapping[str, Any]
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Result:
    """What a node says became of a command. `code` is null when it was done."""

    copy: HeldCopy | None = None
    manifest_key: str = ""  # after a freeze: where it lies in the object store, and how much of it
    poster_key: str = ""
    object_count: int = 0
    object_bytes: int = 0
    cut: tuple[int, int] | None = None  # of a clip: what it shows, in milliseconds since 1970
    code: str | None = None
    message: str | None = None


# What a node holds, as it says itself.


@dataclass(frozen=True, slots=True)
class HeldCopy:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    manifest_key: str
    size_bytes: int
    segment_count: int
    segment_bytes: int
    cached_at: datetime


@dataclass(frozen=True, slots=True)
class CopyAccess:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    count: int
    last_accessed_at: datetime


@dataclass(frozen=True, slots=True)
class InventoryChunk:
    inventory_id: str
    sequence: int
    copies: Sequence[HeldCopy]
    final: bool


MOST_COPIES = 500_000


@dataclass(slots=True)
class Inventory:
    """The chunks of one connection, put together. What is not whole says nothing about what is missing."""

    _open: str | None = None
    _taken: str | None = None
    _next: int = 0
    _copies: dict[ArtifactHash, HeldCopy] = field(default_factory=dict["ArtifactHash", "HeldCopy"])

    def add(self, chunk: InventoryChunk) -> Sequence[HeldCopy] | None:
        """All copies, once the last chunk is there; Conflict when the chunks make no whole."""
        try:
            self._take(chunk)
        except Conflict:
            self._open = None
            raise
        if not chunk.final:
            return None
        self._open, self._taken = None, chunk.inventory_id
        return list(self._copies.values())

    def _take(self, chunk: InventoryChunk) -> None:
        if chunk.inventory_id == self._taken:
            raise _refused("it came before")
        if chunk.sequence == 0 and self._open != chunk.inventory_id:
            self._open, self._next, self._copies = chunk.inventory_id, 0, {}
        if self._open != chunk.inventory_id:
            raise _refused("it does not begin with its first part")
        if chunk.sequence != self._next:
            raise _refused(f"part {chunk.sequence} came where part {self._next} was due")
        if len(self._copies) + len(chunk.copies) > MOST_COPIES:
            raise _refused(f"it lists more than {MOST_COPIES:,} copies")
        for copy in chunk.copies:
            if copy.artifact_hash in self._copies:
                raise _refused(f"it lists {copy.artifact_hash} twice")
            self._copies[copy.artifact_hash] = copy
        self._next += 1


def require_plausible(held: int, on_record: int) -> None:
    """A node that has nothing of all that it had has lost its disk, or looks into the wrong folder."""
    if on_record and not held:
        raise _refused(f"it is empty, and {on_record} copies are on record")


def _refused(why: str) -> Conflict:
    hint = "Nothing was changed. Check that the node's disk is mounted at `node.folder`."
    return Conflict("the inventory of the node is refused", why=why, hint=hint)
