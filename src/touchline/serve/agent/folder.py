"""The folder of a node: whole copies, each in a folder of its own, and beside them what is still being fetched.

    node.json                                whose folder this is
    artifacts/{tenant}/{hash}/{rendition}/   a whole copy: `copy.json` lists its files
    incoming/{hash}-{rendition}/             not served; a transfer goes on where it was broken off
    trash/                                   not served; being deleted

Invariants: a copy appears and goes by one rename, so that nothing is ever served half. No name leads out of a copy's
folder, by a symbolic link either. One process at a time has the folder.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from uuid import UUID, uuid4

from touchline.kernel import (
    ArtifactHash,
    Clock,
    Misconfigured,
    NotFound,
    StorageFull,
    TenantId,
    TouchlineError,
    epoch_ms,
    parse_artifact_hash,
    uuid7,
)
from touchline.serve.playback.files import is_segment

IDENTITY = "node.json"
DETAILS = "copy.json"
ARTIFACTS, INCOMING, TRASH, LOCK = "artifacts", "incoming", "trash", ".lock"
PRIVATE = 0o700
SWEEP_AFTER_S = 24 * 3600.0
NO_FOLLOW = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC

logger = logging.getLogger(__name__)

Place = tuple[TenantId, ArtifactHash]


@dataclass(slots=True)
class LocalCopy:
    """A whole copy. `files`: their sizes by the names of media addresses."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    manifest_key: str
    poster_key: str
    clip_key: str
    files: Mapping[str, int]
    cached_at: datetime
    folder: str  # its name below the artifact's
    open_files: int = 0
    accesses: int = 0  # since they were last reported
    last_accessed_at: datetime | None = None
    reported_access_at: datetime | None = None  # the last one that was reported

    @property
    def place(self) -> Place:
        return self.tenant_id, self.artifact_hash

    @property
    def size_bytes(self) -> int:
        return sum(self.files.values())

    @property
    def segments(self) -> list[int]:
        return [size for name, size in self.files.items() if is_segment(name)]


@dataclass(frozen=True, slots=True)
class FoundCopy:
    """A folder of a copy as it lies on the disk now, whether it is served or not."""

    tenant_id: TenantId
    artifact_hash: ArtifactHash
    manifest_key: str  # empty: its list of files cannot be read
    size_bytes: int  # of the files that it should have and that are there
    segment_count: int
    segment_bytes: int
    cached_at: datetime
    damage: str  # empty: all of its files are there, and have their sizes


@dataclass(slots=True)
class CopyFolder:
    root: Path
    clock: Clock
    instance_id: UUID = field(default_factory=uuid4)
    _copies: dict[Place, LocalCopy] = field(default_factory=dict["Place", LocalCopy])
    _lock: int = -1

    # --- Opening it.

    def open(self) -> None:
        """Misconfigured when another process has it, or it cannot be written."""
        try:
            for name in (ARTIFACTS, INCOMING, TRASH):
                (self.root / name).mkdir(mode=PRIVATE, parents=True, exist_ok=True)
            self._lock = os.open(self.root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "Give each node of this machine a `node.folder` of its own."
            raise Misconfigured("another node uses this folder", why=str(self.root), hint=hint) from error
        except OSError as error:
            raise Misconfigured(f"the folder {self.root} cannot be used", why=error.strerror or "") from error
        self.instance_id = self._identity()
        self._sweep()
        for copy in self._found():
            self._copies[copy.place] = copy

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def is_there(self) -> bool:
        """Whether this is still the folder that was opened: a disk can be lost, and its mount point stays."""
        try:
            return UUID(json.loads((self.root / IDENTITY).read_text())["instance_id"]) == self.instance_id
        except (OSError, ValueError, KeyError):
            return False

    def _identity(self) -> UUID:
        path = self.root / IDENTITY
        if not path.exists():
            write_whole(path, json.dumps({"instance_id": str(uuid7(self.clock.now()))}).encode())
        try:
            return UUID(json.loads(path.read_text())["instance_id"])
        except (ValueError, KeyError) as error:
            raise Misconfigured(f"{path} cannot be read", why="it does not say whose folder this is") from error

    def _sweep(self) -> None:
        """What was being deleted, and what nobody has gone on fetching for a day."""
        before = self.clock.now().timestamp() - SWEEP_AFTER_S
        for path in (self.root / TRASH).iterdir():
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.root / INCOMING).iterdir():
            if path.stat().st_mtime < before:
                shutil.rmtree(path, ignore_errors=True)

    def _found(self) -> Iterator[LocalCopy]:
        """The newest whole copy of each artifact. What is not whole is left alone, and is no copy."""
        for details in sorted((self.root / ARTIFACTS).glob(f"*/*/*/{DETAILS}")):
            copy = self._read(details)
            if copy is None:
                logger.warning("a copy is not whole, and is not served", extra={"folder": str(details.parent)})
            else:
                older = self._copies.get(copy.place)
                if older is None or older.cached_at <= copy.cached_at:
                    yield copy

    def _read(self, details: Path) -> LocalCopy | None:
        copy = self._details(details)
        if copy is None:
            return None
        return copy if all(_size_of(details.parent / name) == size for name, size in copy.files.items()) else None

    def _details(self, details: Path) -> LocalCopy | None:
        try:
            document = json.loads(details.read_text())
            return LocalCopy(
                tenant_id=TenantId(UUID(details.parts[-4])),
                artifact_hash=parse_artifact_hash(details.parts[-3]),
                manifest_key=document["manifest_key"],
                poster_key=document["poster_key"],
                clip_key=document["clip_key"],
                files={str(name): int(size) for name, size in document["files"].items()},
                cached_at=datetime.fromtimestamp(document["cached_at_ms"] / 1000, UTC),
                folder=details.parent.name,
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, TouchlineError):
            return None

    # --- Copies.

    def find(self, tenant_id: TenantId, artifact_hash: ArtifactHash) -> LocalCopy | None:
        return self._copies.get((tenant_id, artifact_hash))

    def copies(self) -> list[LocalCopy]:
        return list(self._copies.values())

    def on_disk(self, after: str, limit: int) -> tuple[list[FoundCopy], str | None]:
        """Of the artifacts behind this hash, in the order of their hashes; and behind which one there are more.
        Blocking: it looks at every file."""
        root = self.root / ARTIFACTS
        names = ((path.name, path) for path in root.glob("*/*") if path.name > after)
        homes = sorted(names, key=lambda each: each[0])
        last = homes[min(limit, len(homes)) - 1][0] if homes else ""
        wanted = [home for name, home in homes if name <= last]
        found = [self._look_at(folder) for home in wanted for folder in sorted(home.glob("*"))]
        return [each for each in found if each], last if len(wanted) < len(homes) else None

    def _look_at(self, folder: Path) -> FoundCopy | None:
        """None: nobody's copy is in a folder of this name."""
        try:
            tenant_id = TenantId(UUID(folder.parts[-3]))
            artifact_hash = parse_artifact_hash(folder.parts[-2])
        except (ValueError, TouchlineError):
            return None
        copy = self._details(folder / DETAILS)
        if copy is None:
            damage = f"{DETAILS} cannot be read"
            return FoundCopy(tenant_id, artifact_hash, "", 0, 0, 0, datetime.fromtimestamp(0, UTC), damage)
        sizes = {name: size for name in copy.files if (size := _size_of(folder / name)) is not None}
        wrong = sorted(name for name, size in copy.files.items() if sizes.get(name) != size)
        damage = f"{len(wrong)} of {len(copy.files)} files are gone or of another size: {wrong[0]}" if wrong else ""
        segments = [size for name, size in sizes.items() if is_segment(name)]
        figures = sum(sizes.values()), len(segments), sum(segments)
        return FoundCopy(tenant_id, artifact_hash, copy.manifest_key, *figures, copy.cached_at, damage)

    @property
    def used_bytes(self) -> int:
        return sum(copy.size_bytes for copy in self._copies.values())

    @property
    def free_bytes(self) -> int:
        return shutil.disk_usage(self.root).free

    def incoming(self, artifact_hash: ArtifactHash, manifest_key: str) -> Path:
        """Where a copy is put together. What an earlier try got is still there."""
        path = self.root / INCOMING / f"{artifact_hash}-{rendition_name(manifest_key)}"
        path.mkdir(mode=PRIVATE, exist_ok=True)
        return path

    def take_in(self, copy: LocalCopy, incoming: Path) -> None:
        """All of its files are there: from now on it is served. Blocking."""
        write_details(incoming, copy)
        sync_tree(incoming)
        home = self._home(copy)
        home.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        self._throw_away(home)
        incoming.rename(home)
        sync_folder(home.parent)
        older = self._copies.get(copy.place)
        self._copies[copy.place] = copy
        if older and older.folder != copy.folder:
            self._throw_away(self._home(older))

    def stored_as(self, copy: LocalCopy, manifest_key: str, poster_key: str) -> None:
        """It lies in the object store under another name now. Blocking."""
        copy.manifest_key, copy.poster_key = manifest_key, poster_key
        write_details(self._home(copy), copy)

    def delete(self, tenant_id: TenantId, artifact_hash: ArtifactHash, manifest_key: str) -> None:
        """The copy of this rendition, if it is there; a newer one stays. Blocking."""
        copy, home = self.find(tenant_id, artifact_hash), self.root / ARTIFACTS / str(tenant_id) / artifact_hash
        kept = copy.folder if copy else ""
        if copy and copy.manifest_key == manifest_key:
            del self._copies[copy.place]
            self._throw_away(self._home(copy))
        for folder in home.glob("*"):
            if folder.name != kept and self._is_of(folder, manifest_key):
                self._throw_away(folder)
        for folder in (home, home.parent):
            try:
                folder.rmdir()
            except OSError:
                break  # not empty, or not there

    def _is_of(self, folder: Path, manifest_key: str) -> bool:
        """Also one that is not whole: it is not among the copies. A freeze may have named it anew."""
        details = self._details(folder / DETAILS)
        return folder.name == rendition_name(manifest_key) or bool(details and details.manifest_key == manifest_key)

    def path_of(self, copy: LocalCopy, name: str) -> Path:
        return self._home(copy) / name

    def open_file(self, copy: LocalCopy, name: str) -> int:
        """A descriptor to read from. Only what the copy lists, and nothing by way of a link."""
        if name not in copy.files:
            raise NotFound("there is no such file", why=name)
        *folders, last = self._home(copy).relative_to(self.root).joinpath(name).parts
        at = os.open(self.root, NO_FOLLOW | os.O_DIRECTORY)
        try:
            for part in folders:
                inner = os.open(part, NO_FOLLOW | os.O_DIRECTORY, dir_fd=at)
                os.close(at)
                at = inner
            return os.open(last, NO_FOLLOW, dir_fd=at)
        except OSError as error:
            raise NotFound("there is no such file", why=name) from error
        finally:
            os.close(at)

    def require_room(self, wanted_bytes: int, budget_bytes: int) -> None:
        room = min(budget_bytes - self.used_bytes, self.free_bytes)
        if wanted_bytes > room:
            why = f"it needs {wanted_bytes:,} bytes, and {max(room, 0):,} are left"
            raise StorageFull("the node has not enough free space for this artifact", why=why)

    def _home(self, copy: LocalCopy) -> Path:
        return self.root / ARTIFACTS / str(copy.tenant_id) / copy.artifact_hash / copy.folder

    def _throw_away(self, path: Path) -> None:
        """Out of sight at once; its bytes go after that."""
        bin_ = self.root / TRASH / uuid4().hex
        try:
            path.rename(bin_)
        except FileNotFoundError:
            return
        shutil.rmtree(bin_, ignore_errors=True)


def _size_of(path: Path) -> int | None:
    """None: it is not there, or is no file."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_size if S_ISREG(found.st_mode) else None


def rendition_name(manifest_key: str) -> str:
    """Of the folder in which a rendition lies. Keys are written by others: no part of one becomes a name."""
    return sha256(manifest_key.encode()).hexdigest()[:16]


def write_details(folder: Path, copy: LocalCopy) -> None:
    document = {
        "manifest_key": copy.manifest_key,
        "poster_key": copy.poster_key,
        "clip_key": copy.clip_key,
        "files": dict(copy.files),
        "cached_at_ms": epoch_ms(copy.cached_at),
    }
    write_whole(folder / DETAILS, json.dumps(document).encode())


def write_whole(path: Path, content: bytes) -> None:
    """Under its name only when all of it is on the disk."""
    partial = path.with_name(f".{path.name}.{uuid4().hex}")
    with partial.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    sync_folder(path.parent)


def sync_tree(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    _sync(folder, os.O_RDONLY | os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    _sync(path, NO_FOLLOW)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
