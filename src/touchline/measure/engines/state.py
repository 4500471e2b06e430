"""What an incremental build has stored so far, in a folder of its own.

Invariant: only what the manifest names counts, and the manifest is replaced in one step: after a kill the folder is as
it was at the last commit, and what was written since is removed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from touchline.kernel.errors import Conflict
from touchline.measure.sessions.model import SEMANTICS_VERSION

from .model import Source, Tally
from .pieces import Files
from .records import Place

FORMAT = 1
MANIFEST = "manifest.json"
LOCK = ".lock"
_HEAD = 1 << 16


@dataclass(slots=True)
class Consumed:
    """How far an input was read, and a digest of how it began."""

    position: int
    head: str


@dataclass(slots=True)
class Manifest:
    format: int = FORMAT
    semantics: int = SEMANTICS_VERSION
    serial: int = 0  # of the last file that was made
    inputs: dict[str, Consumed] = field(default_factory=dict[str, Consumed])
    tally: Tally = field(default_factory=Tally)
    greatest_ts: int | None = None
    batches: list[int] = field(default_factory=list[int])
    records: list[int] = field(default_factory=list[int])
    evidence: list[int] = field(default_factory=list[int])
    quarantine: list[int] = field(default_factory=list[int])
    snapshots: list[Place] = field(default_factory=list[Place])
    contested: list[int] = field(default_factory=list[int])  # keys of uids with more than one content
    dirty: list[str] = field(default_factory=list[str])  # sessions that these concern


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Manifest).decode


class State:
    def __init__(self, folder: Path, *, durable: bool) -> None:
        self.folder, self._place = folder, str(folder)
        self.manifest = self._read()
        self._durable = durable
        self._sweep()

    def path(self, kind: str, serial: int) -> Path:
        return self.folder / f"{kind}-{serial:08}"

    def paths(self, kind: str, serials: Iterable[int]) -> list[Path]:
        return [self.path(kind, serial) for serial in serials]

    def read(self, files: Files, place: Place) -> bytes:
        """A record. Many are read, and a name is made quicker than a path."""
        return files.read(f"{self._place}/batch-{place.batch:08}", place.offset, place.length)

    def new(self, kind: str) -> tuple[int, Path]:
        self.manifest.serial += 1
        return self.manifest.serial, self.path(kind, self.manifest.serial)

    def commit(self) -> None:
        """From now on all that the manifest names counts."""
        if self._durable:
            for path in self._named():
                if path.stat().st_mtime_ns >= self._committed_ns():
                    _sync(path)
        draft = self.folder / f"{MANIFEST}.new"
        draft.write_bytes(_encode(self.manifest))
        if self._durable:
            _sync(draft)
        draft.replace(self.folder / MANIFEST)
        if self._durable:
            _sync(self.folder)
        self._sweep()

    def _committed_ns(self) -> int:
        try:
            return (self.folder / MANIFEST).stat().st_mtime_ns
        except FileNotFoundError:
            return 0

    def _named(self) -> Iterator[Path]:
        manifest = self.manifest
        yield from self.paths("batch", manifest.batches)
        yield from self.paths("records", manifest.records)
        yield from self.paths("evidence", manifest.evidence)
        yield from self.paths("quarantine", manifest.quarantine)

    def _sweep(self) -> None:
        kept = {path.name for path in self._named()} | {MANIFEST, LOCK}
        for path in self.folder.iterdir():
            if path.name not in kept:
                path.unlink()

    def _read(self) -> Manifest:
        try:
            manifest = _decode((self.folder / MANIFEST).read_bytes())
        except FileNotFoundError:
            return Manifest()
        except msgspec.MsgspecError as error:
            raise _unusable(self.folder, "its manifest cannot be read") from error
        if (manifest.format, manifest.semantics) != (FORMAT, SEMANTICS_VERSION):
            raise _unusable(self.folder, "another version made it")
        return manifest


@contextmanager
def open_state(folder: Path, *, durable: bool) -> Generator[State]:
    """Of one process at a time. The lock ends with the process, however that ends."""
    folder.mkdir(parents=True, exist_ok=True)
    strange = [path.name for path in folder.iterdir() if path.name not in (MANIFEST, LOCK)]
    if strange and not (folder / MANIFEST).exists() and not (folder / LOCK).exists():
        raise _unusable(folder, "other things lie in it")
    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield State(folder, durable=durable)
    except BlockingIOError as error:
        hint = "Wait until it has ended, or choose another folder."
        raise Conflict(f"another build uses {folder}", why="it holds the lock", hint=hint) from error
    finally:
        os.close(descriptor)


def begin_at(source: Source, known: Consumed | None) -> int:
    """Where to go on. An input that is not what it was cannot be gone on with."""
    if known is None:
        return 0
    size = source.path.stat().st_size
    if size < known.position or head_of(source.path, known.position) != known.head:
        raise _changed(source, "it does not begin as it did when it was read")
    if size > known.position and not _ends_line(source.path, known.position):
        raise _changed(source, "its last line has grown since it was read")
    return known.position


def head_of(path: Path, position: int) -> str:
    with path.open("rb") as file:
        return sha256(file.read(min(position, _HEAD))).hexdigest()


def _ends_line(path: Path, position: int) -> bool:
    with path.open("rb") as file:
        file.seek(max(position - 1, 0))
        return position == 0 or file.read(1) == b"\n"


def _changed(source: Source, why: str) -> Conflict:
    return Conflict(f"{source.name} has changed", why=why, hint="Begin again with a new folder for --state.")


def _unusable(folder: Path, why: str) -> Conflict:
    return Conflict(f"{folder} is not a state to go on from", why=why, hint="Give another folder to --state.")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_piece(source: Path, start: int, length: int, target: Path) -> None:
    """Inside the kernel, where it can."""
    with source.open("rb") as file, target.open("wb") as copy:
        file.seek(start)
        at, end = start, start + length
        while at < end:
            done = os.sendfile(copy.fileno(), file.fileno(), at, end - at)
            if not done:
                raise Conflict(f"{source} has become shorter", hint="Start again when nothing is writing to it.")
            at += done
