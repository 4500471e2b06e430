"""What is wrong with one artifact, from what the tables, the nodes and the object store say of it. Pure.

Invariants: nothing is repaired by deleting what a row promises, nor the last copy of anything. An object that nobody
knows is deleted only when it is old enough, and never where people put their videos.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from touchline.contracts.artifacts import ArtifactStatus
from touchline.contracts.events.artifacts import ArtifactType
from touchline.contracts.holdings import VideoHolding
from touchline.kernel import ArtifactHash, InvalidInput, TenantId, video_id
from touchline.platform.objects.rules import ListedObject, ObjectKey, object_key
from touchline.serve.nodes.rules import HeldCopy
from touchline.serve.tiers.rules import Copy, CopyState

ORIGINALS, CLIPS = "videos/original/", "videos/clips/"
RENDITIONS, POSTERS, FRAMES = "videos/proxy/", "thumbs/", "frames/"
FOLDERS = (ORIGINALS, RENDITIONS, POSTERS, FRAMES)  # one folder a video, in the order of its id
MADE = (RENDITIONS, POSTERS, FRAMES)  # by processing: these can be made again
MOST_NAMED = 5  # keys in one line


class DamageKind(StrEnum):
    FILE_MISSING = "file_missing"  # an original, or the file of a clip
    FILE_DIFFERS = "file_differs"
    FILE_RETURNED = "file_returned"  # it was noted as missing, and is there
    WATCHED_FILE_MISSING = "watched_file_missing"
    MANIFEST_MISSING = "manifest_missing"
    RENDITION_INCOMPLETE = "rendition_incomplete"
    HOSTILE_PLAYLIST = "hostile_playlist"
    POSTER_MISSING = "poster_missing"
    STORYBOARD_INCOMPLETE = "storyboard_incomplete"
    FRAMES_MISSING = "frames_missing"
    POINTER_MISSING = "pointer_missing"
    OBJECT_EMPTY = "object_empty"
    UNTRACKED_OBJECTS = "untracked_objects"
    UNTRACKED_UPLOAD = "untracked_upload"
    UPLOAD_MISSING = "upload_missing"  # its row says that it is open
    PURGE_INCOMPLETE = "purge_incomplete"
    STUCK = "stuck"
    IDENTITY_MISSING = "identity_missing"
    ARTIFACT_MISSING = "artifact_missing"
    COPY_UNSEEN = "copy_unseen"  # the table has it, and the node has not
    COPY_UNKNOWN = "copy_unknown"  # the node has it, and the table has not
    COPY_DIFFERS = "copy_differs"  # in the number or the size of its files
    COPIES_MISCOUNTED = "copies_miscounted"
    NODE_REFUSED = "node_refused"


class Repair(StrEnum):
    MARK_MISSING = "mark_missing"
    MARK_RETURNED = "mark_returned"
    MAKE_AGAIN = "make_again"
    WRITE_POINTERS = "write_pointers"
    DELETE_OBJECTS = "delete_objects"
    ABORT_UPLOAD = "abort_upload"
    FREEZE_AGAIN = "freeze_again"
    DELETE_COPY = "delete_copy"
    RECORD_COPY = "record_copy"
    FORGET_COPY = "forget_copy"


@dataclass(frozen=True, slots=True)
class Damage:
    kind: DamageKind
    what: str  # an artifact's hash, a key, or a node
    why: str
    repair: Repair | None = None
    keys: Sequence[str] = field(default=(), repr=False)  # what is deleted
    node_id: str = ""  # whose copy it is about
    copy: HeldCopy | None = field(default=None, repr=False)  # as the node has it


@dataclass(frozen=True, slots=True)
class Limits:
    """From when on something counts as damage."""

    now: datetime
    grace: timedelta  # an object that nobody knows yet may still be noted
    stuck_after: timedelta  # a deadline that has passed is its owner's; so long after it, nobody's
    purged_within: timedelta  # of being due

    def is_old(self, moment: datetime) -> bool:
        return moment < self.now - self.grace


@dataclass(frozen=True, slots=True)
class ArtifactRow:
    tenant_id: TenantId
    artifact_hash: ArtifactHash
    is_placed: bool  # its artifact exists
    artifact_type: str | None
    status: str | None
    original_key: str | None
    size_bytes: int | None
    synced: bool | None
    manifest_key: str | None
    poster_key: str | None
    original_missing_since: datetime | None
    purge_due_at: datetime | None
    purged_at: datetime | None
    created_at: datetime
    due_at: datetime | None  # of its upload in parts
    upload_id: str | None
    object_key: str | None
    watched_key: str | None  # where watch has it, unless it was dropped
    local_copies: int | None
    copies: int  # rows of copies that are not gone

    @property
    def is_live(self) -> bool:
        return self.status in LIVE

    @property
    def promises_file(self) -> bool:
        """Also while undelete still works. A recording is many files, which its manifest lists."""
        if self.artifact_type == ArtifactType.DVR:
            return False
        is_recoverable = self.status == ArtifactStatus.DELETED and self.purge_due_at is None
        return bool(self.synced and self.original_key) and (self.is_live or is_recoverable)


LIVE = (ArtifactStatus.PROCESSING, ArtifactStatus.READY, ArtifactStatus.FAILED)
OWNED = (ArtifactStatus.REQUESTED, ArtifactStatus.UPLOADING, ArtifactStatus.COMPLETING, ArtifactStatus.ABORTING)


@dataclass(frozen=True, slots=True)
class NamedObjects:
    """What playlists name, followed from the manifest; or what they should not."""

    keys: frozenset[str] = frozenset()
    hostile: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class CopyOnNode:
    """As it lies on a node's disk at this moment."""

    node_id: str
    copy: HeldCopy
    damage: str  # empty: its files are those that it lists


@dataclass(frozen=True, slots=True)
class Copies:
    """Of one artifact, as the table has them and as the nodes that were asked have them."""

    on_record: Sequence[Copy] = ()
    on_nodes: Sequence[CopyOnNode] = ()
    asked: frozenset[str] = frozenset()  # nodes whose whole answer this is


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of one id."""

    artifact_hash: ArtifactHash
    row: ArtifactRow | None
    holding: VideoHolding | None
    objects: Mapping[str, ListedObject]  # under the folders of this id, by key
    rendition: NamedObjects = NamedObjects()
    storyboard: NamedObjects = NamedObjects()
    copies: Copies = Copies()

    @property
    def manifest_key(self) -> str | None:
        """What viewers get: a freeze may have stored it anew since it was made."""
        frozen = self.row.manifest_key if self.row and self.row.synced else None
        return frozen or (self.holding.manifest_key if self.holding else None)

    def under(self, folders: Iterable[str]) -> list[ListedObject]:
        return [each for key, each in self.objects.items() if key.startswith(tuple(folders))]


def damages(found: Evidence, limits: Limits) -> Iterator[Damage]:
    row, holding = found.row, found.holding
    yield from copy_damages(found)
    if row is None:
        yield from _without_row(found, limits)
        return
    if row.purged_at is not None:
        yield from _after_purge(found, limits)
        return
    if not row.is_placed:
        if limits.is_old(row.created_at) and found.objects:
            yield Damage(
                DamageKind.ARTIFACT_MISSING, row.artifact_hash, "its record has no artifact, but objects exist"
            )
        return
    yield from _file(found)
    yield from _state(found, limits)
    if row.local_copies is not None and row.local_copies > row.copies:
        why = f"its record counts {row.local_copies} copies, but there are {row.copies}"
        yield Damage(DamageKind.COPIES_MISCOUNTED, row.artifact_hash, why)
    if row.is_live and holding is not None and not holding.is_deleted:
        yield from _rendition(found, holding)
        yield from _leftovers(found, holding, limits)
    if row.is_live:
        yield from _empty(found)


def _without_row(found: Evidence, limits: Limits) -> Iterator[Damage]:
    """Objects, or a video of processing, that the registry has never heard of."""
    if found.holding is not None:
        why = "processing has a video that is not in the registry"
        yield Damage(DamageKind.IDENTITY_MISSING, found.artifact_hash, why)
        return
    old = [each for each in found.objects.values() if limits.is_old(each.modified_at)]
    yield from _untracked(
        [each for each in old if each.key.startswith(MADE)], Repair.DELETE_OBJECTS, "the database does not reference it"
    )
    originals = [each for each in old if each.key.startswith(ORIGINALS)]
    yield from _untracked(originals, None, "nothing references it; `touchline scan` imports videos")


def _after_purge(found: Evidence, limits: Limits) -> Iterator[Damage]:
    left = [each for each in found.objects.values() if limits.is_old(each.modified_at)]
    if left:
        keys = [each.key for each in left]
        yield Damage(DamageKind.PURGE_INCOMPLETE, found.artifact_hash, named("left", keys), Repair.DELETE_OBJECTS, keys)
    if found.row is not None and found.row.copies:
        yield Damage(DamageKind.COPY_UNKNOWN, found.artifact_hash, f"{found.row.copies} nodes hold a purged artifact")


def _file(found: Evidence) -> Iterator[Damage]:
    """The original of an upload, or the file of a clip."""
    row = found.row
    if row is None or not row.promises_file:
        return
    what, key = row.artifact_hash, row.original_key or ""
    there = found.objects.get(key)
    if there is None:
        repair = Repair.MARK_MISSING if row.original_missing_since is None else None
        yield Damage(DamageKind.FILE_MISSING, what, f"there is no object {key}", repair)
    elif row.size_bytes is not None and there.size_bytes != row.size_bytes:
        why = f"{key} has {there.size_bytes:,} bytes, but should have {row.size_bytes:,}"
        yield Damage(DamageKind.FILE_DIFFERS, what, why)
    elif row.original_missing_since is not None:
        yield Damage(DamageKind.FILE_RETURNED, what, f"{key} exists again", Repair.MARK_RETURNED)


def _state(found: Evidence, limits: Limits) -> Iterator[Damage]:
    row, holding = found.row, found.holding
    if row is None:
        return
    stuck = limits.now - limits.stuck_after
    if row.status in OWNED and (row.due_at or row.created_at) < stuck:
        yield Damage(DamageKind.STUCK, row.artifact_hash, f"it has been {row.status} for too long")
    idle = holding is not None and not holding.is_worked_on and holding.updated_at < stuck
    if row.status == ArtifactStatus.PROCESSING and idle:
        yield Damage(DamageKind.STUCK, row.artifact_hash, "it is processing, but has no job")
    if row.purge_due_at is not None and row.purge_due_at < limits.now - limits.purged_within:
        yield Damage(DamageKind.STUCK, row.artifact_hash, "its purge has started, but is not finished")


def _rendition(found: Evidence, holding: VideoHolding) -> Iterator[Damage]:
    what, there = found.artifact_hash, found.objects
    again = Repair.MAKE_AGAIN if _can_make_again(found) else None
    if holding.manifest_key is None or found.manifest_key is None:
        return
    stored_again = again or (Repair.FREEZE_AGAIN if _can_freeze_again(found) else None)
    if found.manifest_key not in there:
        yield Damage(DamageKind.MANIFEST_MISSING, what, f"there is no object {found.manifest_key}", stored_again)
    if missing := sorted(found.rendition.keys - there.keys()):
        yield Damage(
            DamageKind.RENDITION_INCOMPLETE, what, named("missing files of its playlists", missing), stored_again
        )
    if hostile := found.rendition.hostile:
        yield Damage(DamageKind.HOSTILE_PLAYLIST, what, named("a playlist names outside files", hostile), again)
    if holding.poster_key is not None and holding.poster_key not in there:
        yield Damage(DamageKind.POSTER_MISSING, what, f"there is no object {holding.poster_key}", again)
    if missing := sorted(found.storyboard.keys - there.keys()):
        yield Damage(DamageKind.STORYBOARD_INCOMPLETE, what, named("missing files of its storyboard", missing), again)
    if missing := sorted(set(holding.frame_keys) - there.keys()):
        yield Damage(DamageKind.FRAMES_MISSING, what, named("missing frames", missing), again)
    yield from _pointers(found, holding)


def _pointers(found: Evidence, holding: VideoHolding) -> Iterator[Damage]:
    fixed = [key for key in pointers_of(found.artifact_hash) if key not in found.objects]
    is_there = holding.manifest_key in found.objects and found.manifest_key in found.objects
    if holding.has_pointers and fixed and is_there:
        why = named("missing fixed keys", fixed)
        yield Damage(DamageKind.POINTER_MISSING, found.artifact_hash, why, Repair.WRITE_POINTERS)


def pointers_of(artifact_hash: ArtifactHash) -> tuple[str, str]:
    folder = video_id(artifact_hash)
    return f"{RENDITIONS}{folder}/index.m3u8", f"{POSTERS}{folder}/poster.jpg"


def _can_make_again(found: Evidence) -> bool:
    """Of an original that is there, whole, and not that of another file."""
    row, holding = found.row, found.holding
    if row is None or holding is None or holding.is_worked_on or not row.original_key or not row.synced:
        return False
    there = found.objects.get(row.original_key)
    return there is not None and there.size_bytes == row.size_bytes


def _can_freeze_again(found: Evidence) -> bool:
    """A node has all of what the object store should have."""
    row = found.row
    if row is None or not row.synced:
        return False
    return any(_is_whole(one, found) and one.copy.manifest_key == row.manifest_key for one in found.copies.on_nodes)


def _leftovers(found: Evidence, holding: VideoHolding, limits: Limits) -> Iterator[Damage]:
    """What other attempts have left. While a job works nobody knows which attempt is the next."""
    if holding.is_worked_on or holding.manifest_key is None:
        return
    current = {posixpath.dirname(holding.manifest_key) + "/", *pointers_of(found.artifact_hash)}
    keys = holding.poster_key, found.manifest_key, found.row and found.row.poster_key, *holding.frame_keys[:1]
    current |= {posixpath.dirname(key) + "/" for key in keys if key}
    old = [
        each
        for each in found.under(MADE)
        if not each.key.startswith(tuple(current)) and limits.is_old(each.modified_at)
    ]
    yield from _untracked(old, Repair.DELETE_OBJECTS, "left over from an attempt that was replaced")


def _untracked(objects: Sequence[ListedObject], repair: Repair | None, why: str) -> Iterator[Damage]:
    """One line for each folder."""
    folders: dict[str, list[ListedObject]] = {}
    for each in objects:
        folders.setdefault(_attempt_folder(each.key), []).append(each)
    for folder, inside in folders.items():
        size = sum(each.size_bytes for each in inside)
        text = f"{len(inside)} objects, {size:,} bytes: {why}"
        yield Damage(DamageKind.UNTRACKED_OBJECTS, folder, text, repair, [each.key for each in inside])


def _attempt_folder(key: str) -> str:
    prefix = next(folder for folder in FOLDERS if key.startswith(folder))
    steps = key.removeprefix(prefix).split("/")
    return prefix + "/".join(steps[:2] if len(steps) > 2 else steps[:1])


def _empty(found: Evidence) -> Iterator[Damage]:
    named_keys = found.rendition.keys | found.storyboard.keys
    empty = sorted(key for key in named_keys if (there := found.objects.get(key)) and not there.size_bytes)
    if empty:
        repair = Repair.MAKE_AGAIN if _can_make_again(found) else None
        yield Damage(DamageKind.OBJECT_EMPTY, found.artifact_hash, named("empty objects", empty), repair)


def named(what: str, keys: Sequence[str]) -> str:
    shown = ", ".join(keys[:MOST_NAMED])
    return f"{what}: {shown}" if len(keys) <= MOST_NAMED else f"{what}: {shown} and {len(keys) - MOST_NAMED} more"


# Copies on nodes. What is on its way there or away is not judged: its command ends that.


def copy_damages(found: Evidence) -> Iterator[Damage]:
    records = {copy.node_id: copy for copy in found.copies.on_record}
    seen = {one.node_id for one in found.copies.on_nodes}
    for one in found.copies.on_nodes:
        record = records.get(one.node_id)
        if record is None:
            yield _unknown_copy(found, one)
        elif record.state is CopyState.PRESENT and (why := _difference(record, one)):
            repair = Repair.DELETE_COPY if found.row and found.row.synced else None
            named_alike = replace(one, copy=replace(one.copy, manifest_key=record.manifest_key))
            yield _of_copy(DamageKind.COPY_DIFFERS, found, named_alike, why, repair)
    for node_id, copy in records.items():
        if copy.state is CopyState.PRESENT and node_id in found.copies.asked - seen:
            repair = Repair.FORGET_COPY if copy.synced else None
            why = f"{node_id} lacks a copy that the database lists"
            yield Damage(DamageKind.COPY_UNSEEN, found.artifact_hash, why, repair, node_id=node_id)


def _unknown_copy(found: Evidence, one: CopyOnNode) -> Damage:
    row, why = found.row, f"{one.node_id} has a copy of {one.copy.size_bytes:,} bytes that the database does not list"
    repair = None
    if row is not None and row.tenant_id == one.copy.tenant_id and row.is_placed:
        if row.purged_at is not None:
            repair = Repair.DELETE_COPY
        elif one.damage:
            repair = Repair.DELETE_COPY if row.synced and one.copy.manifest_key else None
        elif not row.synced or row.manifest_key == one.copy.manifest_key:
            repair = Repair.RECORD_COPY
    return _of_copy(DamageKind.COPY_UNKNOWN, found, one, f"{why}. {one.damage}" if one.damage else why, repair)


def _of_copy(kind: DamageKind, found: Evidence, one: CopyOnNode, why: str, repair: Repair | None) -> Damage:
    return Damage(kind, found.artifact_hash, why, repair, node_id=one.node_id, copy=one.copy)


def _difference(record: Copy, one: CopyOnNode) -> str:
    if one.damage:
        return f"{one.node_id}: {one.damage}"
    should = record.size_bytes, record.segment_count, record.segment_bytes
    found = one.copy.size_bytes, one.copy.segment_count, one.copy.segment_bytes
    if should == found:
        return ""
    return f"{one.node_id} has {_figures(*found)}; the database lists {_figures(*should)}"


def _figures(size_bytes: int, segments: int, segment_bytes: int) -> str:
    return f"{size_bytes:,} bytes, {segment_bytes:,} of them in {segments} segments"


def _is_whole(one: CopyOnNode, found: Evidence) -> bool:
    record = next((copy for copy in found.copies.on_record if copy.node_id == one.node_id), None)
    return record is not None and record.state is CopyState.PRESENT and not _difference(record, one)


# What playlists and storyboards name. They are made by us; what lies in the bucket may be anybody's.

_URI = re.compile(r'URI="([^"]*)"')
PLAYLIST = ".m3u8"


def names_in(key: str, text: str) -> NamedObjects:
    """Of an HLS playlist or a WebVTT storyboard, as keys. A name that leaves the folder is hostile."""
    names = _storyboard_names(text) if text.startswith("WEBVTT") else _playlist_names(text)
    keys, hostile = set[str](), list[str]()
    for name in names:
        try:
            keys.add(_beside(key, name))
        except InvalidInput:
            hostile.append(name[:200])
    return NamedObjects(frozenset(keys), tuple(hostile))


def _playlist_names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if line.startswith("#"):
            yield from _URI.findall(line)
        elif line.strip():
            yield line.strip()


def _storyboard_names(text: str) -> Iterator[str]:
    for line in text.splitlines():
        name, separator, _ = line.strip().partition("#xywh=")
        if separator:
            yield name


def _beside(key: str, name: str) -> ObjectKey:
    return object_key(f"{posixpath.dirname(key)}/{name}")
