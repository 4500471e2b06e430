"""Which copies a full node gives up, and which may go at all. Pure.

Invariant: what is pinned stays, and so does what lies nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from touchline.kernel import ArtifactHash, TenantId
from touchline.serve.nodes.rules import HeldCopy

HOUR = timedelta(hours=1)


class CopyState(StrEnum):
    DEFROSTING = "defrosting"
    PRESENT = "present"
    EVICTING = "evicting"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy as it is on record, with what decides about it."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    node_id: str
    state: CopyState
    manifest_key: str
    size_bytes: int
    segment_count: int
    segment_bytes: int
    last_accessed_at: datetime | None
    cached_at: datetime | None
    pinned: bool
    synced: bool


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Shares of a node's budget: above the upper one eviction starts, at the lower one it stops."""

    upper: float
    lower: float


def victims(
    copies: Iterable[Copy], used_bytes: int, budget_bytes: int, marks: Watermarks, now: datetime
) -> Sequence[Copy]:
    """The copies to evict, in the order in which they go. Copies that go already count as gone."""
    known = list(copies)
    left = used_bytes - sum(copy.size_bytes for copy in known if copy.state is CopyState.EVICTING)
    if left <= marks.upper * budget_bytes:
        return []
    chosen: list[Copy] = []
    for copy in sorted(filter(may_go, known), key=lambda copy: _worth(copy, now)):
        if left <= marks.lower * budget_bytes:
            break
        chosen.append(copy)
        left -= copy.size_bytes
    return chosen


def may_go(copy: Copy) -> bool:
    """That the object store really has it is verified besides, when its turn comes."""
    return copy.state is CopyState.PRESENT and copy.synced and not copy.pinned


def _worth(copy: Copy, now: datetime) -> tuple[float, float, int, str]:
    """Coldest, oldest and largest first. Whole hours: of two copies that are about as cold the larger one goes."""
    cached_at = copy.cached_at or datetime.min.replace(tzinfo=now.tzinfo)
    idle, age = (now - (copy.last_accessed_at or cached_at)) // HOUR, (now - cached_at) // HOUR
    return -idle, -age, -copy.size_bytes, copy.artifact_hash


@dataclass(frozen=True, slots=True)
class Deleted:
    """An artifact that is deleted and that a node still has."""

    deleted_at: datetime
    is_final: bool
    synced: bool


def needs_object(deleted: Deleted, purge_after: timedelta, now: datetime) -> bool:
    """While a deletion can be undone, a copy goes only where the object store has the artifact."""
    return not deleted.is_final and now < deleted.deleted_at + purge_after


# A whole inventory against what is on record.


@dataclass(frozen=True, slots=True)
class Known:
    """The artifact of a copy that a node reports."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    manifest_key: str | None
    synced: bool
    status: str


@dataclass(frozen=True, slots=True)
class Differences:
    missing: Sequence[Copy] = ()  # on record, and not there
    found: Sequence[HeldCopy] = ()  # there, and not on record
    replaced: Sequence[HeldCopy] = ()  # of a rendition that another one took the place of
    unknown: Sequence[HeldCopy] = ()  # of no artifact: left alone, for `fsck`


def compare(on_record: Iterable[Copy], held: Iterable[HeldCopy], known: Iterable[Known]) -> Differences:
    records = {copy.artifact_hash: copy for copy in on_record}
    artifacts = {(one.tenant_id, one.artifact_hash): one for one in known}
    found: list[HeldCopy] = []
    replaced: list[HeldCopy] = []
    unknown: list[HeldCopy] = []
    there: set[ArtifactHash] = set()
    for copy in held:
        there.add(copy.artifact_hash)
        artifact, record = artifacts.get((copy.tenant_id, copy.artifact_hash)), records.get(copy.artifact_hash)
        if artifact is None:
            unknown.append(copy)
        elif record is None or (record.state is CopyState.PRESENT and record.manifest_key != copy.manifest_key):
            (found if is_current(artifact, copy) else replaced).append(copy)
    missing = [copy for copy in records.values() if _is_held(copy) and copy.artifact_hash not in there]
    return Differences(missing, found, replaced, unknown)


def is_current(artifact: Known, copy: HeldCopy) -> bool:
    """What lies nowhere else is current, whatever it calls itself."""
    return not artifact.synced or artifact.manifest_key == copy.manifest_key


def _is_held(copy: Copy) -> bool:
    return copy.state in (CopyState.PRESENT, CopyState.EVICTING)
